// Precompiled headers: those of poller/pch.hpp, and the parser of command lines.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "poller/pch.hpp"
