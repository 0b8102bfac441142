# Writes OUT, a header that names the commit of SOURCE, when that has changed. Without git, or outside of a repository,
# what GIT_COMMIT in the environment says: a package is built from an archive.
set(commit "$ENV{GIT_COMMIT}")
if(NOT commit)
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit MATCHES "^[A-Za-z0-9._-]+$")
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define INBOX_POLLER_COMMIT \"${commit}\"\n")
