# SPDX-License-Identifier: MIT
# What `cmake --install` puts where (scheduler/client has its own). The preloaded library and
# its agent are in one directory, in which kfdsched searches for them: ../lib.
include(GNUInstallDirs)
install(TARGETS kfdschedd RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR})
install(TARGETS kfdsched kfdreplay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS kfdshim kfdshim-agent LIBRARY DESTINATION lib)
install(FILES include/kfdshim.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES README.md SECURITY.md LICENSE packaging/kfdschedd.ini
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Where README.md, SECURITY.md, help texts and error messages name them: below docs/.
install(DIRECTORY docs/operator docs/reference docs/security DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs
  FILES_MATCHING PATTERN "*.md" PATTERN cookbook.in EXCLUDE)
install(DIRECTORY ${CMAKE_BINARY_DIR}/pages/schemas DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs FILES_MATCHING PATTERN "*.json")
# The unit names the daemon by the prefix that the build was configured with.
configure_file(packaging/kfdschedd.service.in kfdschedd.service @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kfdschedd.service packaging/kfdschedd.socket
  DESTINATION lib/systemd/system)
install(FILES packaging/kfdsched.sysusers DESTINATION lib/sysusers.d RENAME kfdsched.conf)
# What `kfdsched workload` plays; in the build, too, where a world with another root sees it.
file(COPY traces DESTINATION ${CMAKE_BINARY_DIR} FILES_MATCHING PATTERN "*.csv")
install(DIRECTORY traces DESTINATION ${CMAKE_INSTALL_DATADIR}/kfdshim FILES_MATCHING PATTERN "*.csv")
