import { hostname, networkInterfaces } from 'node:os';

/** An address of this machine that is reachable from its networks. */
export interface MachineAddress {
  address: string;
  /** The name of its network interface. */
  interface: string;
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The prefix of IPv4 addresses on a socket that listens for both families. */
const MAPPED = '::ffff:';

/** Normalizes an address of a socket: an IPv4 address mapped to IPv6 becomes IPv4. Empty if the socket is closed. */
export function unmappedAddress(address = ''): string {
  return address.startsWith(MAPPED) ? address.slice(MAPPED.length) : address;
}

/** Returns whether the machine has this host name (in lowercase) or this address. */
export function isOwnHostname(name: string): boolean {
  const machine = hostname().toLowerCase();
  if (name === machine || name === `${machine}.local`) return true;
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => address.split('%')[0]?.toLowerCase() === name),
  );
}

/** Returns the machine's addresses, IPv4 first. IPv6 link-local addresses are omitted: browsers cannot open them. */
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

/** Returns the http URL of a host and port. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
