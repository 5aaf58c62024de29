# SPDX-License-Identifier: BSD-3-Clause
"""A virtual machine: starts QEMU, speaks to the guest's PID 1 over a serial port (a line of JSON each way) and to QEMU over
its control socket (QMP)."""
from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable
from typing import Any

from parts import Kernel
from wire import Wire

HERE = os.path.dirname(os.path.abspath(__file__))
BOOT_SECONDS = 600   # with emulation, on a busy machine
# An IOMMU for vfio; panic=-1 and -no-reboot end QEMU with the guest; the timer check fails on a busy host.
KERNEL_LINE = ("console=ttyS0 quiet panic=-1 intel_iommu=on iommu=pt net.ifnames=0 mitigations=off no_timer_check "
               "cryptomgr.notests tsc=reliable init_on_alloc=0")


class Gone(Exception):
    """The guest does not answer any more."""


class Line:
    """Lines of text over a unix socket that the other side made."""

    def __init__(self, path: str, seconds: float) -> None:
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._rest = b""
        end = time.monotonic() + seconds
        while True:
            try:
                self._sock.connect(path)
                return
            except OSError as error:
                if time.monotonic() > end:
                    raise Gone(f"no connection to QEMU: {error}") from error
                time.sleep(0.1)

    def close(self) -> None:
        self._sock.close()

    def write(self, text: str) -> None:
        self._sock.sendall(text.encode() + b"\n")

    def read(self, seconds: float) -> str:
        end = time.monotonic() + seconds
        while b"\n" not in self._rest:
            self._sock.settimeout(max(0.01, end - time.monotonic()))
            try:
                data = self._sock.recv(65536)
            except TimeoutError as error:
                raise Gone(f"silent for {seconds:.0f} s") from error
            except OSError as error:
                raise Gone(f"QEMU ended: {error}") from error
            if not data:
                raise Gone("QEMU ended")
            self._rest += data
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode(errors="replace").strip()


def accelerator_options(kvm: bool) -> list[str]:
    if kvm:
        return ["-machine", "q35,accel=kvm,kernel-irqchip=split", "-cpu", "host"]
    return ["-machine", "q35,accel=tcg", "-cpu", "max"]


def base_options(kernel: Kernel, folder: str, line: str) -> list[str]:
    return ["-m", "2048", "-smp", "1", "-nodefaults", "-display", "none", "-no-reboot",
            "-kernel", kernel.image, "-initrd", kernel.initramfs, "-append", f"{KERNEL_LINE} {line}",
            "-serial", f"file:{folder}/console.txt",
            "-chardev", f"socket,id=talk,path={folder}/talk.sock,server=on,wait=off", "-serial", "chardev:talk",
            "-qmp", f"unix:{folder}/qmp.sock,server=on,wait=off"]


class Machine:
    """One guest with a pair of NICs on a wire. `device` is QEMU's name of the NIC with its properties."""

    def __init__(self, qemu: list[str], kvm: bool, kernel: Kernel, device: str, folder: str, build: str) -> None:
        os.makedirs(folder + "/logs", exist_ok=True)
        self.folder = folder
        self.device = device
        self.wire = Wire(folder)
        line = f"weft.script={HERE}/guest.py weft.build={build}"
        command = [*qemu, *accelerator_options(kvm), *base_options(kernel, folder, line),
                   "-device", "intel-iommu,intremap=on,device-iotlb=on,aw-bits=48",
                   "-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
                   "-device", "virtio-9p-pci,fsdev=root,mount_tag=root",
                   "-fsdev", f"local,id=logs,path={folder}/logs,security_model=none",
                   "-device", "virtio-9p-pci,fsdev=logs,mount_tag=logs", *self._nics()]
        with open(folder + "/qemu.txt", "w", encoding="utf-8") as errors:
            self._qemu = subprocess.Popen(command, stdout=errors, stderr=errors)
        try:
            self._qmp = Line(folder + "/qmp.sock", 60)
            self._talk = Line(folder + "/talk.sock", 60)
            self._qmp.read(60)
            self.control("qmp_capabilities")
            self.hello = self._answer(BOOT_SECONDS)
        except Gone:
            self.stop()
            raise

    def _nics(self) -> list[str]:
        options: list[str] = []
        for i, (far, near) in enumerate(self.wire.ports):
            options += ["-netdev", f"dgram,id=net{i},local.type=unix,local.path={far},remote.type=unix,remote.path={near}",
                        "-device", f"pcie-root-port,id=port{i},chassis={i + 1},slot={i + 1},addr=0x{8 + i:x}",
                        "-device", f"{self.device},id=nic{i},netdev=net{i},mac={self.mac(i)},bus=port{i},romfile="]
        return options

    def plug(self, i: int) -> None:
        """Adds NIC i again, after it was removed."""
        driver, _, properties = self.device.partition(",")
        arguments = dict(word.split("=") for word in properties.split(",") if word)
        self.control("device_add", driver=driver, id=f"nic{i}", netdev=f"net{i}", mac=self.mac(i), bus=f"port{i}", **arguments)

    @staticmethod
    def mac(i: int) -> str:
        return f"52:54:00:00:00:{i + 1:02x}"

    def stop(self) -> None:
        self._qemu.terminate()
        try:
            self._qemu.wait(10)
        except subprocess.TimeoutExpired:
            self._qemu.kill()
            self._qemu.wait()
        self.wire.close()

    def end_of_console(self) -> str:
        """The last lines of the guest's console and of QEMU, for a guest that died."""
        text = ""
        for name in ("console.txt", "qemu.txt"):
            with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
                text += "".join(file.readlines()[-8:])
        return text

    def control(self, command: str, **arguments: Any) -> None:
        """A command of QEMU's own; events of QEMU are passed over."""
        self._qmp.write(json.dumps({"execute": command, "arguments": arguments}))
        while True:
            reply = json.loads(self._qmp.read(60))
            if "return" in reply:
                return
            if "error" in reply:
                raise Gone(f"{command}: {reply['error']['desc']}")

    def _answer(self, seconds: float) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while True:
            text = self._talk.read(end - time.monotonic())
            if text.startswith("{"):  # the kernel may write to the port before the guest's program has it
                reply: dict[str, Any] = json.loads(text)
                return reply

    def call(self, request: dict[str, Any], seconds: float, deed: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """Sends a request and returns the guest's result. What the guest asks of the host on the way goes to `deed`."""
        self._talk.write(json.dumps(request))
        end = time.monotonic() + seconds
        while True:
            reply = self._answer(max(1.0, end - time.monotonic()))
            if "ask" not in reply:
                return reply
            self._talk.write(json.dumps({"told": deed(reply)}))


def kvm_boots(qemu: list[str], kernel: Kernel, folder: str) -> bool:
    """Whether KVM boots Debian's kernel here: some hosts' KVM runs only kernels made for it."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    os.makedirs(folder, exist_ok=True)
    command = [*qemu, *accelerator_options(True), *base_options(kernel, folder, "weft.probe")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            talk = Line(folder + "/talk.sock", 5)
            talk.read(20)
            talk.close()
            return True
        except Gone:
            return False
        finally:
            process.kill()
