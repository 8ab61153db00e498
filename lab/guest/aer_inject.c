/* Injects PCIe errors into a device, by Linux's module aer_inject (drivers/pci/pcie/aer_inject.c has the structure).
 *
 *     aer_inject DOMAIN:BUS:DEVICE.FUNCTION CORRECTABLE UNCORRECTABLE
 *
 * with the bits of the AER capability's two status registers (PCI Express Base Specification, 7.8.4). */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct injection {
    uint8_t bus, device, function;
    uint32_t uncorrectable, correctable, header[4], domain;
};

int main(int argc, char **argv) {
    unsigned domain, bus, device, function;
    if (argc != 4 || sscanf(argv[1], "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) {
        fputs("usage: aer_inject DOMAIN:BUS:DEVICE.FUNCTION CORRECTABLE UNCORRECTABLE\n", stderr);
        return 2;
    }
    struct injection injection = {
        .domain = domain, .bus = bus, .device = device, .function = function,
        .correctable = strtoul(argv[2], 0, 0), .uncorrectable = strtoul(argv[3], 0, 0),
    };
    int file = open("/dev/aer_inject", O_WRONLY);
    if (file < 0 || write(file, &injection, sizeof injection) != sizeof injection) {
        perror("/dev/aer_inject");
        return 1;
    }
    return 0;
}
