################################################################################
#
# groma
#
################################################################################

# packages/fill writes what stands between two @. Copy this directory to package/groma.
GROMA_VERSION = @VERSION@
GROMA_SITE = @URL@
GROMA_LICENSE = MIT or Apache-2.0
GROMA_LICENSE_FILES = LICENSE-MIT LICENSE-APACHE
# The program's crate: at the top is only the workspace, which cargo does not install.
GROMA_SUBDIR = crates/groma

ifeq ($(BR2_PACKAGE_GROMA_LMBENCH),y)
define GROMA_INSTALL_NAMES
	mkdir -p $(TARGET_DIR)/usr/lib/lmbench/bin
	while read -r name; do \
		ln -sf ../../../bin/groma $(TARGET_DIR)/usr/lib/lmbench/bin/$$name || exit 1; \
	done < $(@D)/docs/lmbench/programs
endef
GROMA_POST_INSTALL_TARGET_HOOKS += GROMA_INSTALL_NAMES
endif

$(eval $(cargo-package))
