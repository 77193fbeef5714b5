# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What GRUB starts when nobody chooses, from configurations that its own generator wrote."""

from __future__ import annotations

import re

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils.parse import grub
from ansible_collections.goldennode.gpu.tests.unit import fixtures

OLD, NEW = "6.12.48+deb13-amd64", "6.12.57+deb13-amd64"
DISK = "6c3b5a1e-2f0d-4b7a-9c55-0d7f3f6b2a11"
WRITTEN = fixtures.text("grub_mkconfig-2.12-debian13.txt")
FLAT = fixtures.text("grub_mkconfig-2.12-flat-debian13.txt")
OLD_BY_ID = "gnulinux-advanced-%s>gnulinux-%s-advanced-%s" % (DISK, OLD, DISK)
OLD_BY_TITLE = "Advanced options for Debian GNU/Linux>Debian GNU/Linux, with Linux " + OLD


def with_default(value, text=WRITTEN):
    """The configuration that ``GRUB_DEFAULT=value`` gives."""
    assert 'set default="0"' in text
    return text.replace('set default="0"', 'set default="%s"' % value)


def started(text, **environment):
    """Titles and kernel of what is started."""
    menu = grub.parse(text, environment)
    assert menu.value is not None, menu.error
    path = grub.chosen(menu.value)
    assert path.value is not None, path.error
    return [entry.title for entry in path.value], path.value[-1].kernel if path.value else None


@pytest.mark.parametrize(
    ("default", "kernel"),
    [
        ("0", NEW),
        ("1", NEW),
        ("1>0", NEW),
        ("1>2", OLD),
        ("1>0x2", OLD),
        ("1>3", OLD),  # its rescue entry
        ("gnulinux-simple-" + DISK, NEW),
        ("Debian GNU/Linux", NEW),
        (OLD_BY_ID, OLD),
        (OLD_BY_TITLE, OLD),
        ("gnulinux-advanced-%s>no such entry" % DISK, NEW),
        ("Debian GNU/Linux, with Linux " + OLD, NEW),  # is in the submenu, which the default does not name
        ("no such entry", NEW),
        ("7", NEW),
        ("", NEW),
    ],
)
def test_the_default_by_number_id_and_title(default, kernel):
    assert started(with_default(default))[1] == kernel


def test_the_entry_is_told_with_its_submenu():
    assert started(with_default("1>2"))[0] == [
        "Advanced options for Debian GNU/Linux",
        "Debian GNU/Linux, with Linux " + OLD,
    ]


def test_without_submenus():
    assert started(FLAT) == (["Debian GNU/Linux, with Linux " + OLD], OLD)


def test_the_saved_entry():
    saved = with_default("${saved_entry}")
    assert started(saved, saved_entry=OLD_BY_ID)[1] == OLD
    assert started(saved)[1] == NEW
    assert started(saved, saved_entry="1>2")[1] == OLD


def test_a_choice_for_the_next_boot_alone_comes_first():
    assert started(with_default("0"), next_entry="1>2")[1] == OLD
    assert started(with_default("1>2"), next_entry="0")[1] == NEW


def test_the_words_on_the_command_line():
    menu = grub.parse(FLAT, {}).value
    assert menu.entries[0].arguments == ("root=/dev/sda1", "ro", "iommu=pt", "quiet")


def test_a_title_of_the_submenu_is_corrected_by_the_generator():
    """Its own words where GRUB_DEFAULT is such a title, and for one with a quote."""
    title = "Debian GNU/Linux, with Linux " + OLD
    line = "if [ \"x$default\" = '%s' ]; then default='%s'; fi;"
    text = with_default(title) + line % ("It'\\''s another", "1") + line % (title, OLD_BY_TITLE) + "\n"
    assert started(text)[1] == OLD
    assert started(text.replace('set default="%s"' % title, 'set default="It\'s another"'))[1] == NEW
    assert started(text + "menuentry 'mine' --id mine {\n linux /vmlinuz-1.0\n}\n")[1] == OLD


def test_an_entry_that_depends_on_what_is_not_known():
    """The entry for the firmware's settings is there on EFI only: counted past, nobody knows which is which."""
    text = WRITTEN + "menuentry 'mine' --id mine {\n linux /vmlinuz-1.0\n}\n"
    assert started(with_default("mine", text)) == (["mine"], "1.0")
    counted = grub.chosen(grub.parse(with_default("3", text), {}).value)
    assert "'UEFI Firmware Settings' is in GRUB's menu depends on a condition" in counted.error


def test_a_default_under_a_condition_that_is_not_understood_is_not_known():
    text = WRITTEN + "if sleep --interruptible 1; then\n  set default=1\nfi\n"
    assert grub.parse(text, {}).error.endswith("the default is set under a condition that is not understood")


@pytest.mark.parametrize(
    ("line", "kernel"),
    [
        ("linux /vmlinuz-6.8.0-88-generic root=UUID=1 ro", "6.8.0-88-generic"),
        ("linuxefi /boot/vmlinuz-6.8.0-88-generic ro", "6.8.0-88-generic"),
        ('linux "/BOOT/ubuntu_1@/vmlinuz-6.8.0-88-generic" root=ZFS=rpool/ROOT/ubuntu_1', "6.8.0-88-generic"),
        ("linux /@/boot/vmlinux-6.12.57-powerpc64le", "6.12.57-powerpc64le"),
        (
            "multiboot2 /boot/xen-4.20-amd64.gz\nmodule2 /boot/vmlinuz-6.12.57 placeholder\nmodule2 /initrd.img",
            "6.12.57",
        ),
        ("linux /vmlinuz root=/dev/sda1", None),
        ("chainloader /EFI/other.efi", None),
    ],
)
def test_the_release_in_the_name_of_the_kernel(line, kernel):
    assert started("menuentry 'x' {\n%s\n}\n" % line) == (["x"], kernel)


@pytest.mark.parametrize("end", ["; }", " }", ";}"])
def test_an_entry_on_one_line_counts(end):
    text = "set default=%s\n" + 'menuentry "halt" { halt' + end + "\nmenuentry 'x' {\n linux /vmlinuz-1.0\n}\n"
    assert started(text % 0) == (["halt"], None)
    assert started(text % 1) == (["x"], "1.0")


#: How Ubuntu's own generator starts: a choice for one boot comes first, and an initramfs that failed.
UBUNTU_CHOICE = """
if [ -s $prefix/grubenv ]; then
  set have_grubenv=true
  load_env
fi
if [ "${initrdfail}" = 2 ]; then
   set initrdfail=
elif [ "${initrdfail}" = 1 ]; then
   set next_entry="${prev_entry}"
   set prev_entry=
   save_env prev_entry
   if [ "${next_entry}" ]; then
      set initrdfail=2
   fi
fi
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
"""

#: What Ubuntu's own generator puts before the entries, and an entry of a cloud image, which is first started without
#: an initramfs.
UBUNTU = (
    UBUNTU_CHOICE
    + """   set default="${saved_entry}"
fi
menuentry 'Ubuntu' --class ubuntu --class os $menuentry_id_option 'gnulinux-simple-7a' {
  recordfail
  if [ "${initrdfail}" = 1 ]; then
    linux  /boot/vmlinuz-6.8.0-88-generic root=PARTUUID=7a ro  quiet splash $vt_handoff
    initrd  /boot/initrd.img-6.8.0-88-generic
  else
    linux  /boot/vmlinuz-6.8.0-88-generic root=PARTUUID=7a ro  quiet splash $vt_handoff panic=-1
    #Dont set initrdfail here
  fi
  initrdfail
}
submenu 'Advanced options for Ubuntu' $menuentry_id_option 'gnulinux-advanced-7a' {
  menuentry 'Ubuntu, with Linux 6.8.0-88-generic' $menuentry_id_option 'gnulinux-6.8.0-88-generic-advanced-7a' {
    linux  /boot/vmlinuz-6.8.0-88-generic root=PARTUUID=7a ro
  }
  menuentry 'Ubuntu, with Linux 6.8.0-71-gpu+1 (recovery mode)' $menuentry_id_option \
'gnulinux-6.8.0-71-gpu+1-recovery-7a' {
    linux  /boot/vmlinuz-6.8.0-71-gpu+1 root=PARTUUID=7a ro recovery nomodeset
  }
  menuentry 'Ubuntu, with Linux 6.8.0-71-gpu+1' $menuentry_id_option 'gnulinux-6.8.0-71-gpu+1-advanced-7a' {
    linux  /boot/vmlinuz-6.8.0-71-gpu+1 root=PARTUUID=7a ro
  }
}
""".replace("\\\n", "")
)


@pytest.mark.parametrize(
    ("saved", "kernel"),
    [
        ("", "6.8.0-88-generic"),
        ("gnulinux-advanced-7a>gnulinux-6.8.0-71-gpu+1-advanced-7a", "6.8.0-71-gpu+1"),
        ("gnulinux-advanced-7a>gnulinux-6.8.0-60-generic-advanced-7a", "6.8.0-88-generic"),  # is gone since
        ("1>2", "6.8.0-71-gpu+1"),
    ],
)
def test_ubuntus_configuration_with_a_saved_entry(saved, kernel):
    assert started(UBUNTU, saved_entry=saved)[1] == kernel


def test_a_kernel_with_a_local_version_is_named_by_its_entry_and_not_by_its_recovery():
    name = grub.default_for(grub.parse(UBUNTU, {}).value, "6.8.0-71-gpu+1")
    assert name == "gnulinux-advanced-7a>gnulinux-6.8.0-71-gpu+1-advanced-7a"


#: Reconstructed, not recorded: what Ubuntu 24.04 generates on a cloud image (GRUB_FORCE_PARTUUID), which starts its
#: kernel without an initramfs first. Conditions inside functions, several on one line, and another before each entry.
UBUNTU_2404 = (
    UBUNTU_CHOICE
    + r"""   set default="0"
fi

if [ x"${feature_menuentry_id}" = xy ]; then
  menuentry_id_option="--id"
else
  menuentry_id_option=""
fi
export menuentry_id_option
function recordfail {
  set recordfail=1
  if [ -n "${have_grubenv}" ]; then if [ -z "${boot_once}" ]; then save_env recordfail; fi; fi
}
function initrdfail {
    if [ -n "${have_grubenv}" ]; then if [ -n "${partuuid}" ]; then
      if [ -z "${initrdfail}" ]; then
        set initrdfail=1
        if [ -n "${boot_once}" ]; then
          set prev_entry="${default}"
          save_env prev_entry
        fi
      fi
      save_env initrdfail
    fi; fi
}
function load_video {
  if [ x$feature_all_video_module = xy ]; then
    insmod all_video
  else
    insmod efi_gop
  fi
}
if [ "${recordfail}" != 1 ]; then
  if [ -e ${prefix}/gfxblacklist.txt ]; then
    if [ ${grub_platform} != pc ]; then
      set linux_gfx_mode=keep
    elif hwmatch ${prefix}/gfxblacklist.txt 3; then
      if [ ${match} = 0 ]; then
        set linux_gfx_mode=keep
      else
        set linux_gfx_mode=text
      fi
    else
      set linux_gfx_mode=text
    fi
  else
    set linux_gfx_mode=keep
  fi
else
  set linux_gfx_mode=text
fi
export linux_gfx_mode
set partuuid="a1b2-01"
menuentry 'Ubuntu' --class ubuntu --class gnu-linux --class gnu --class os $menuentry_id_option 'gnulinux-simple-UU' {
  recordfail
  load_video
  gfxmode $linux_gfx_mode
  insmod gzio
  if [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi
  insmod part_gpt
  search --no-floppy --fs-uuid --set=root UU
  if [ "${initrdfail}" = 1 ]; then
    echo  'GRUB_FORCE_PARTUUID set, initrdless boot failed. Attempting with initrd.'
    linux  /boot/vmlinuz-6.8.0-45-generic root=PARTUUID=a1b2-01 ro  console=tty1 console=ttyS0
    initrd  /boot/initrd.img-6.8.0-45-generic
  else
    echo  'GRUB_FORCE_PARTUUID set, attempting initrdless boot.'
    linux  /boot/vmlinuz-6.8.0-45-generic root=PARTUUID=a1b2-01 ro  console=tty1 console=ttyS0 panic=-1
  fi
  initrdfail
}
submenu 'Advanced options for Ubuntu' $menuentry_id_option 'gnulinux-advanced-UU' {
  menuentry 'Ubuntu, with Linux 6.8.0-45-generic' $menuentry_id_option 'gnulinux-6.8.0-45-generic-advanced-UU' {
    linux  /boot/vmlinuz-6.8.0-45-generic root=PARTUUID=a1b2-01 ro
  }
  menuentry 'Ubuntu, with Linux 6.8.0-45-generic (recovery mode)' --id 'gnulinux-6.8.0-45-generic-recovery-UU' {
    linux  /boot/vmlinuz-6.8.0-45-generic root=UUID=UU ro recovery nomodeset dis_ucode_ldr
  }
  menuentry 'Ubuntu, with Linux 6.8.0-40-generic' $menuentry_id_option 'gnulinux-6.8.0-40-generic-advanced-UU' {
    linux  /boot/vmlinuz-6.8.0-40-generic root=UUID=UU ro
  }
}
if [ "$grub_platform" = "efi" ]; then
  fwsetup --is-supported
  if [ "$?" = 0 ]; then
    menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {
      fwsetup
    }
  fi
fi
"""
)


@pytest.mark.parametrize(
    ("environment", "kernel"),
    [
        ({}, "6.8.0-45-generic"),
        ({"next_entry": "gnulinux-advanced-UU>gnulinux-6.8.0-40-generic-advanced-UU"}, "6.8.0-40-generic"),
        ({"initrdfail": "1", "prev_entry": "1>2"}, "6.8.0-40-generic"),  # the boot without one failed: once more
        ({"initrdfail": "2", "prev_entry": "1>2"}, "6.8.0-45-generic"),
    ],
)
def test_what_ubuntu_2404_starts_where_it_boots_without_an_initramfs_first(environment, kernel):
    assert started(UBUNTU_2404, **environment)[1] == kernel


def test_the_default_of_ubuntu_2404_is_by_ids_and_not_its_recovery():
    menu = grub.parse(UBUNTU_2404, {}).value
    assert grub.default_for(menu, "6.8.0-40-generic") == "gnulinux-advanced-UU>gnulinux-6.8.0-40-generic-advanced-UU"
    assert grub.default_for(menu, "6.8.0-45-generic") == "gnulinux-advanced-UU>gnulinux-6.8.0-45-generic-advanced-UU"


def test_titles_with_quotes():
    text = "menuentry 'It'\\''s $HOME' --id x {\n linux /vmlinuz-1.0\n}\n"
    assert started(text) == (["It's $HOME"], "1.0")


def test_entries_elsewhere_are_said():
    assert grub.parse("insmod blscfg\nblscfg\n", {}).value.bls


def test_no_entry_at_all():
    assert started("set default=0\n") == ([], None)


@pytest.mark.parametrize("text", [WRITTEN, FLAT])
@pytest.mark.parametrize("kernel", [OLD, NEW])
def test_the_default_for_a_kernel_starts_it(text, kernel):
    menu = grub.parse(text, {}).value
    default = grub.default_for(menu, kernel)
    assert started(re.sub(r'set default="[0g][^"]*"', 'set default="%s"' % default, text))[1] == kernel
    assert "recovery" not in default


def test_the_default_for_a_kernel_is_by_ids():
    assert grub.default_for(grub.parse(WRITTEN, {}).value, OLD) == OLD_BY_ID
    assert grub.default_for(grub.parse(FLAT, {}).value, OLD) == "gnulinux-%s-advanced-%s" % (OLD, DISK)


def test_a_kernel_without_an_entry_has_no_default():
    assert grub.default_for(grub.parse(WRITTEN, {}).value, "6.12.99+deb13-amd64") is None


def test_an_id_with_the_sign_that_parts_ids():
    text = "submenu a --id 'a>b' {\nmenuentry c --id 'c-6.1' {\nlinux /vmlinuz-6.1\n}\n}\n"
    default = grub.default_for(grub.parse(text, {}).value, "6.1")
    assert default == "a>>b>c-6.1"
    assert started('set default="%s"\n%s' % (default, text)) == (["a", "c"], "6.1")


def test_the_environment_block():
    block = "# GRUB Environment Block\nsaved_entry=a>b=c\nnext_entry=\n" + "#" * 40
    assert grub.environment_block(block) == {"saved_entry": "a>b=c", "next_entry": ""}
