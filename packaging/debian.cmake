# Run by cpack between `cmake --install` and the archives: adds to each package what Debian's policy wants
# and other systems do not, so that `cmake --install` does not install it.
cmake_minimum_required(VERSION 3.22)
find_program(GZIP gzip REQUIRED)

# Leaves out the name and the time that gzip writes by default.
function(compress file)
  execute_process(COMMAND ${GZIP} -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# dpkg-buildpackage takes the same date: SOURCE_DATE_EPOCH, or now.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)

# Manual pages and completions of commands that are in another package, or in none.
set(staged ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
file(GLOB_RECURSE pages RELATIVE ${staged}/runtime ${staged}/runtime/usr/share/*)
foreach(page IN LISTS pages)
  get_filename_component(name ${page} NAME)
  get_filename_component(folder ${page} DIRECTORY)
  if(name MATCHES "^_?paraes-mpi([.-].*)?$" AND "mpi" IN_LIST CPACK_COMPONENTS_ALL)
    file(COPY ${staged}/runtime/${page} DESTINATION ${staged}/mpi/${folder}
      DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                            WORLD_READ WORLD_EXECUTE)
  endif()
  if(name MATCHES "^_?paraes-(mpi|lab)([.-].*)?$")
    file(REMOVE ${staged}/runtime/${page})
  endif()
endforeach()

while(CPACK_PARAES_PACKAGES)
  list(POP_FRONT CPACK_PARAES_PACKAGES component package)
  set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr/share)
  file(GLOB pages ${root}/man/man*/*.[1-9])
  foreach(page IN LISTS pages)
    compress(${page})
  endforeach()
  # Debian's zsh looks for the completions of packages in vendor-completions.
  if(EXISTS ${root}/zsh/site-functions)
    file(RENAME ${root}/zsh/site-functions ${root}/zsh/vendor-completions)
  endif()
  # Its text is in /usr/share/common-licenses.
  file(GLOB licences ${root}/doc/*/LICENSE)
  if(licences)
    file(REMOVE ${licences})
  endif()
  set(documents ${root}/doc/${package})
  file(COPY ${CPACK_PARAES_SOURCE}/packaging/copyright DESTINATION ${documents}
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
    DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                          WORLD_READ WORLD_EXECUTE)
  file(WRITE ${documents}/changelog
"paraes (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}; CHANGELOG.md in the sources says what is new.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  compress(${documents}/changelog)
  file(CHMOD ${documents}/changelog.gz
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endwhile()
