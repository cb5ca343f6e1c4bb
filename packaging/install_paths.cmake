# While installing: the units and the settings name programs and folders where they are installed.
foreach(pair
        systemd/cascaded.service:lib/systemd/system/cascaded.service
        systemd/cascaded.socket:lib/systemd/system/cascaded.socket
        systemd/user/cascaded.service:lib/systemd/user/cascaded.service
        config/cascaded.toml:etc/cascaded/cascaded.toml)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 from)
  list(GET pair 1 to)
  set(to "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${to}")
  message(STATUS "Installing: ${to}")
  configure_file("${source}/${from}" "${to}" COPYONLY)
  if(NOT CMAKE_INSTALL_PREFIX STREQUAL /usr)
    file(READ "${to}" text)
    foreach(folder /usr/bin/ /usr/share/)
      string(REPLACE /usr/ "" below ${folder})
      string(REPLACE ${folder} "${CMAKE_INSTALL_PREFIX}/${below}" text "${text}")
    endforeach()
    string(REPLACE /etc/cascaded/ "${CMAKE_INSTALL_PREFIX}/etc/cascaded/" text "${text}")
    file(WRITE "${to}" "${text}")
  endif()
endforeach()
