# SPDX-License-Identifier: BSD-3-Clause
"""What a guest is made of: Debian's kernel, an initramfs with busybox and some modules, a QEMU. Packages are downloaded and
unpacked into a cache directory; nothing of it is installed, and the host's package sources stay as they are."""
from __future__ import annotations

import glob
import os
import shutil
import subprocess
from dataclasses import dataclass

CACHE = os.environ.get("WEFT_NIC_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "weft-nic")
# Loaded before the root is there; then the drivers that cases bind.
BOOT_MODULES = ["virtio_pci", "9pnet_virtio", "9p", "overlay"]
MODULES = [*BOOT_MODULES, "vfio-pci", "vfio_iommu_type1", "uio_pci_generic", "virtio_net", "e1000", "e1000e", "igb", "igbvf",
           "vmxnet3", "af_packet", "8021q"]
HERE = os.path.dirname(os.path.abspath(__file__))


class Missing(Exception):
    """A part that this machine does not have and cannot get; the text says why."""


@dataclass(frozen=True)
class Kernel:
    image: str
    initramfs: str
    version: str


def run(*command: str, cwd: str | None = None) -> str:
    """Standard output of a command; Missing, with the last line of what it said, if it fails."""
    try:
        done = subprocess.run(command, cwd=cwd, text=True, capture_output=True, timeout=900)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit status {done.returncode}"]
        raise Missing(f"{' '.join(command[:2])}: {lines[-1]}")
    return done.stdout


def needs(program: str, package: str) -> str:
    path = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise Missing(f"no {program} (Debian package {package}; `make deps` installs it)")
    return path


def unpack(packages: list[str], folder: str, apt_options: list[str]) -> None:
    """Downloads packages and unpacks them into a folder, which appears only when it is complete."""
    part = folder + ".part"
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    run("apt-get", *apt_options, "download", *packages, cwd=part)
    for archive in glob.glob(part + "/*.deb"):
        run("dpkg-deb", "-x", archive, part)
        os.unlink(archive)
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(part, folder)


def kernel_tree() -> tuple[str, str]:
    """Folder with boot/ and lib/modules/, and the kernel's version: an installed stock kernel, or one from the archive."""
    for root in ("/", CACHE + "/kernel"):
        for image in sorted(glob.glob(os.path.join(root, "boot/vmlinuz-*-amd64")), reverse=True):
            version = os.path.basename(image)[len("vmlinuz-"):]
            whole = os.path.isdir(os.path.join(root, "lib/modules", version, "kernel/fs/9p"))
            if "-cloud-" not in version and "-rt-" not in version and whole and os.access(image, os.R_OK):
                return root, version
    depends = run("apt-cache", "depends", "linux-image-amd64").split()
    names = [name for name in depends if name.startswith("linux-image-") and name[len("linux-image-"):][0].isdigit()]
    if not names:
        raise Missing("the package sources have no linux-image-amd64 (apt-get update)")
    unpack(names[:1], CACHE + "/kernel", [])
    return kernel_tree()


def module_files(root: str, version: str) -> list[str]:
    """The modules' files in the order of loading."""
    needs("modprobe", "kmod")
    if not os.path.exists(os.path.join(root, "lib/modules", version, "modules.dep")):
        run("/sbin/depmod", "-b", root, version)
    files: list[str] = []
    for name in MODULES:
        for line in run("/sbin/modprobe", "-d", root, "-S", version, "--show-depends", name).splitlines():
            words = line.split()
            if words[0] == "insmod" and words[1] not in files:
                files.append(words[1])
    return files


def pack(folder: str, archive: str) -> None:
    """A cpio archive of everything in the folder."""
    names = run("find", ".", cwd=folder)
    with open(archive + ".part", "wb") as out:
        if subprocess.run([needs("cpio", "cpio"), "--quiet", "-o", "-H", "newc"], cwd=folder, input=names.encode(),
                          stdout=out, check=False).returncode != 0:
            raise Missing("cpio failed")
    os.rename(archive + ".part", archive)


def newer(file: str, *sources: str) -> bool:
    return os.path.exists(file) and os.path.getmtime(file) > max(os.path.getmtime(source) for source in sources)


def kernel() -> Kernel:
    """Debian's stock kernel with an initramfs; made anew when this file or init.sh changed."""
    root, version = kernel_tree()
    image, initramfs = os.path.join(root, "boot/vmlinuz-" + version), f"{CACHE}/initramfs-{version}.cpio"
    if not newer(initramfs, image, HERE + "/init.sh", HERE + "/parts.py"):
        make_initramfs(root, version, initramfs)
    return Kernel(image, initramfs, version)


def make_initramfs(root: str, version: str, archive: str) -> None:
    """Busybox, init.sh and the modules."""
    busybox = needs("busybox", "busybox-static")
    work = archive + ".d"
    shutil.rmtree(work, ignore_errors=True)
    target = f"{work}/lib/modules/{version}"
    for folder in ("bin", "proc", "sys", "dev", "lower", "rw", "root"):
        os.makedirs(f"{work}/{folder}")
    shutil.copy(busybox, work + "/bin/busybox")
    shutil.copy(HERE + "/init.sh", work + "/init")
    os.chmod(work + "/init", 0o755)
    for file in module_files(root, version):
        inside = os.path.join(target, os.path.relpath(file, os.path.join(root, "lib/modules", version)))
        os.makedirs(os.path.dirname(inside), exist_ok=True)
        shutil.copy(file, inside)
    for table in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        shutil.copy(os.path.join(root, "lib/modules", version, table), target)
    run("/sbin/depmod", "-b", work, version)
    pack(work, archive)
    shutil.rmtree(work)


def archive_address() -> str:
    """Where the host gets Debian from."""
    for line in run("apt-get", "indextargets", "--format", "$(SITE) $(CODENAME)", "Created-By: Packages").splitlines():
        if line.endswith(" bookworm"):
            return line.split()[0]
    raise Missing("no package source of Debian 12")


def backports_qemu() -> list[str]:
    """Command of the QEMU of bookworm-backports, which has an igb; Missing if it cannot be had."""
    folder = CACHE + "/qemu"
    program = folder + "/usr/bin/qemu-system-x86_64"
    if not os.path.exists(program):
        lists = CACHE + "/apt"
        os.makedirs(lists + "/lists/partial", exist_ok=True)
        with open(lists + "/sources.list", "w", encoding="ascii") as out:
            out.write("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
                      f"{archive_address()} bookworm-backports main\n")
        options = ["-o", f"Dir::Etc::SourceList={lists}/sources.list", "-o", "Dir::Etc::SourceParts=-",
                   "-o", f"Dir::State::Lists={lists}/lists", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache="]
        run("apt-get", *options, "update")
        unpack(["qemu-system-x86", "qemu-system-common", "qemu-system-data"], folder, options)
    modules = f"QEMU_MODULE_DIR={folder}/usr/lib/x86_64-linux-gnu/qemu"  # not those of an installed QEMU
    command = ["env", modules, program, "-L", folder + "/usr/share/qemu", "-L", "/usr/share/seabios"]
    run(*command, "-version")
    return command


def qemu() -> list[str]:
    return [needs("qemu-system-x86_64", "qemu-system-x86")]


def has_device(command: list[str], device: str) -> bool:
    # Not the list of all devices: it loads every module, also those of an installed QEMU of another version.
    return "options:" in run(*command, "-device", device + ",help")


if __name__ == "__main__":  # `make deps`: what needs the network
    try:
        kernel()
    except (Missing, OSError) as why:  # OSError: the cache cannot be written
        print("no kernel for guests, tests with emulated NICs cannot run:", why)
