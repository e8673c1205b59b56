import { hostname, networkInterfaces } from 'node:os';

/** An address of this machine that others on its networks can reach it by. */
export interface MachineAddress {
  address: string;
  /** The network interface that has it. */
  interface: string;
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** What stands before an IPv4 address where one socket listens for both families. */
const MAPPED = '::ffff:';

/** The address of one end of a connection, as a socket tells it; empty where it tells none any more. */
export function unmappedAddress(address = ''): string {
  return address.startsWith(MAPPED) ? address.slice(MAPPED.length) : address;
}

/** Whether the machine itself bears this name (lowercase), or has this address. */
export function isOwnHostname(name: string): boolean {
  const machine = hostname().toLowerCase();
  if (name === machine || name === `${machine}.local`) return true;
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => address.split('%')[0]?.toLowerCase() === name),
  );
}

/** IPv4 first. IPv6 addresses of one link alone are left out: no browser can open one. */
export function machineAddresses(): MachineAddress[] {
  const found = Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    addresses
      .filter(({ internal, address }) => !internal && !/^fe[89ab]/i.test(address))
      .map(({ address }) => ({ address, interface: name })),
  );
  return found.sort(
    (left, right) => Number(left.address.includes(':')) - Number(right.address.includes(':')),
  );
}

/** The address of a web page at this host and port. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
