# Puts PROGRAM and all that belongs to it below $ENV{DESTDIR}PREFIX; SOURCE is the checkout.
#   cmake -DPROGRAM=… -DPREFIX=/usr -DSOURCE=. -P cmake/stage.cmake
# Completions and manual pages are what the program itself says; EMULATOR starts one of another processor.
set(root "$ENV{DESTDIR}${PREFIX}")
set(ENV{DESTDIR})  # file(INSTALL) would put it in front once more
set(share "${root}/share")
set(doc "${share}/doc/inbox-poller")

file(INSTALL "${PROGRAM}" DESTINATION "${root}/bin" RENAME inbox-poller MESSAGE_NEVER USE_SOURCE_PERMISSIONS)
foreach(section 1 5)
  file(MAKE_DIRECTORY "${share}/man/man${section}")
endforeach()
execute_process(COMMAND ${EMULATOR} "${PROGRAM}" manual "${share}/man/man1" COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS "${SOURCE}/CMakeLists.txt" version REGEX "^project\\(inbox-poller VERSION")
string(REGEX MATCH "[0-9.]+" version "${version}")
execute_process(COMMAND python3 -B "${SOURCE}/deploy/packages/toml_page.py" "${SOURCE}/docs/reference/configuration.md" ${version}
  OUTPUT_FILE "${share}/man/man5/inbox-poller.toml.5" COMMAND_ERROR_IS_FATAL ANY)
foreach(place "bash:bash-completion/completions/inbox-poller" "zsh:zsh/vendor-completions/_inbox-poller"
        "fish:fish/vendor_completions.d/inbox-poller.fish")
  string(REPLACE ":" ";" place "${place}")
  list(POP_FRONT place shell)
  cmake_path(GET place PARENT_PATH folder)
  file(MAKE_DIRECTORY "${share}/${folder}")
  execute_process(COMMAND ${EMULATOR} "${PROGRAM}" completion ${shell} OUTPUT_FILE "${share}/${place}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# The units of a checkout start ~/.local/bin; an installed one starts what was installed.
file(GLOB units "${SOURCE}/deploy/systemd/*.service" "${SOURCE}/deploy/systemd/*.socket" "${SOURCE}/deploy/systemd/*.timer")
foreach(unit ${units})
  cmake_path(GET unit FILENAME name)
  file(READ "${unit}" text)
  string(REPLACE "%h/.local/bin/" "${PREFIX}/bin/" text "${text}")
  string(REPLACE "%h/.local/share/inbox-poller/notify/" "${PREFIX}/lib/inbox-poller/notify/" text "${text}")
  string(REPLACE "%h/.local/share/doc/" "${PREFIX}/share/doc/" text "${text}")
  string(REGEX REPLACE "^# User unit:[^\n]*\n(#[^\n]*\n)*" "# systemctl --user enable --now inbox-poller; loginctl enable-linger keeps it without a login\n" text "${text}")
  file(WRITE "${root}/lib/systemd/user/${name}" "${text}")
endforeach()
file(INSTALL "${SOURCE}/deploy/packages/inbox-poller-folder.service" DESTINATION "${root}/lib/systemd/user" MESSAGE_NEVER)
file(INSTALL "${SOURCE}/deploy/packages/folder.conf" DESTINATION "${root}/lib/systemd/user/inbox-poller.service.d" MESSAGE_NEVER)

file(INSTALL "${SOURCE}/README.md" "${SOURCE}/CHANGELOG.md" DESTINATION "${doc}" MESSAGE_NEVER)
file(INSTALL "${SOURCE}/docs" DESTINATION "${doc}" MESSAGE_NEVER PATTERN "dev" EXCLUDE PATTERN "adr" EXCLUDE)
execute_process(COMMAND ${EMULATOR} "${PROGRAM}" manual --schemas "${doc}/docs/schemas" COMMAND_ERROR_IS_FATAL ANY)
file(INSTALL "${SOURCE}/deploy/examples/" DESTINATION "${doc}/examples" MESSAGE_NEVER)
foreach(more metrics claude-code)
  file(INSTALL "${SOURCE}/deploy/${more}/" DESTINATION "${doc}/examples/${more}" MESSAGE_NEVER PATTERN "plugin*" EXCLUDE)
endforeach()

# A marketplace of the client's plugins, as in a checkout.
file(INSTALL "${SOURCE}/.claude-plugin" DESTINATION "${share}/inbox-poller" MESSAGE_NEVER)
foreach(plugin plugin plugin-mail-tools)
  file(INSTALL "${SOURCE}/deploy/claude-code/${plugin}" DESTINATION "${share}/inbox-poller/deploy/claude-code" MESSAGE_NEVER
    USE_SOURCE_PERMISSIONS)
endforeach()

# What the documents link to lies elsewhere than in a checkout; of what is not installed the words stay. Pages of a kind lie one folder
# below docs, so that their way up is one step longer.
file(GLOB_RECURSE pages "${doc}/*.md")
foreach(page ${pages})
  file(READ "${page}" text)
  file(RELATIVE_PATH name "${doc}" "${page}")
  set(to_the_prefix "../../../..")
  if(name MATCHES "^docs/.*/")
    set(to_the_prefix "../../../../..")
  endif()
  string(REGEX REPLACE "\\]\\((\\.\\./)+deploy/systemd/" "](${to_the_prefix}/lib/systemd/user/" text "${text}")
  string(REGEX REPLACE "\\]\\((\\.\\./)+deploy/notify/" "](${to_the_prefix}/lib/inbox-poller/notify/" text "${text}")
  string(REGEX REPLACE "\\]\\(((\\.\\./)*)deploy/examples" "](\\1examples" text "${text}")
  string(REGEX REPLACE "\\]\\(((\\.\\./)*)deploy/(metrics|claude-code)/" "](\\1examples/\\3/" text "${text}")
  string(REGEX REPLACE "\\[([^]]*)\\]\\((\\.\\./)*(docs/)?(adr|dev|deploy|tests|mkdocs.yml|CONTRIBUTING.md)[^)]*\\)" "\\1" text "${text}")
  file(WRITE "${page}" "${text}")
endforeach()
file(INSTALL "${SOURCE}/deploy/notify/" DESTINATION "${root}/lib/inbox-poller/notify" MESSAGE_NEVER USE_SOURCE_PERMISSIONS
  PATTERN "__pycache__" EXCLUDE)
