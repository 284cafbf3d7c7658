// SPDX-License-Identifier: Apache-2.0
#include "model/config_text.h"
