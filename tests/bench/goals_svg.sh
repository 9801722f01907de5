#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# goals_svg.sh <CASES >FILE: a picture of what goals.sh judged, one JSON a line: a row a case, with
# what offline keeps and the online P99, each by the possible one, and a line where the goal is.
set -eu

tsv='[.case, (.keeps.ratio // -1), (.p99_us.ratio // -1), (.missed | length)] | @tsv'
jq -r "$tsv" | awk -F'\t' '
	function text(x, y, class, anchor, what) {
		gsub(/&/, "\\&amp;", what); gsub(/</, "\\&lt;", what)
		printf "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">%s</text>\n", x, y, class, anchor, what
	}
	# One bar: 1 is 150 wide, and twice that is the end.
	function bar(x, y, value, missed) {
		if (value < 0) { text(x + 4, y + 13, "soft", "start", "-"); return }
		wide = 150 * (value < 2 ? value : 2)
		printf "<rect class=\"%s\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"14\" rx=\"2\"/>\n", \
			missed ? "missed" : "met", x, y, (wide > 1 ? wide : 1)
		text(x + wide + 6, y + 12, "soft", "start", sprintf("%.2f", value))
	}
	{ name[NR] = $1; keeps[NR] = $2; p99[NR] = $3; missed[NR] = $4 }
	END {
		left = 470; right = 850; top = 96; bottom = top + 22 * NR
		printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1240 %d\" font-family=\"sans-serif\">\n", bottom + 40
		print "<style>rect.ground{fill:#fff}.title{font-size:20px;fill:#1b2533}.soft{font-size:12px;fill:#1b2533}" \
			".met{fill:#0e9384}.missed{fill:#b42318}.goal{stroke:#1b2533;stroke-dasharray:5 4}" \
			"@media (prefers-color-scheme:dark){rect.ground{fill:#11161d}.title,.soft{fill:#f4f7fb}.goal{stroke:#f4f7fb}}</style>"
		print "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>"
		text(24, 40, "title", "start", "Beside what is possible for a scheduler that knows the future (simulated GPU)")
		text(left, 76, "soft", "start", "offline keeps: goal 0.85 or more")
		text(right, 76, "soft", "start", "online P99: goal 1.05 or less")
		for (i = 1; i <= NR; i++) {
			text(24, top + 22 * i - 8, "soft", "start", name[i])
			bar(left, top + 22 * i - 20, keeps[i], missed[i])
			bar(right, top + 22 * i - 20, p99[i], missed[i])
		}
		printf "<path class=\"goal\" d=\"M%.1f %d V%d M%.1f %d V%d\"/>\n", left + 150 * 0.85, top - 8, bottom, \
			right + 150 * 1.05, top - 8, bottom
		print "</svg>"
	}'
