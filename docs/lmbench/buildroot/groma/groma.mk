################################################################################
#
# groma
#
################################################################################

# Copy this directory to package/groma, the list of programs beside it, and name the directory with
# the source in GROMA_OVERRIDE_SRCDIR (local.mk), or its archive here.
GROMA_VERSION = 0.1.0
GROMA_SITE = $(TOPDIR)/../groma
GROMA_SITE_METHOD = local
GROMA_LICENSE = MIT or Apache-2.0
GROMA_LICENSE_FILES = LICENSE-MIT LICENSE-APACHE
GROMA_CARGO_BUILD_OPTS = --package groma
GROMA_CARGO_INSTALL_OPTS = --path crates/groma

ifeq ($(BR2_PACKAGE_GROMA_LMBENCH),y)
define GROMA_INSTALL_NAMES
	mkdir -p $(TARGET_DIR)/usr/lib/lmbench/bin
	while read -r name; do \
		ln -sf ../../../bin/groma $(TARGET_DIR)/usr/lib/lmbench/bin/$$name || exit 1; \
	done < $(GROMA_PKGDIR)/programs
endef
GROMA_POST_INSTALL_TARGET_HOOKS += GROMA_INSTALL_NAMES
endif

$(eval $(cargo-package))
