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

/** Whether this process encrypts the connection of a request. */
export function isEncrypted({ socket }: { socket: object }): boolean {
  return (socket as { encrypted?: boolean }).encrypted === true;
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

/** Returns the names and addresses at which this machine can be reached. */
export function machineNames(): string[] {
  const machine = hostname().toLowerCase();
  const names = /^[a-z0-9.-]+$/.test(machine) ? [machine, `${machine.replace(/\.local$/, '')}.local`] : [];
  const addresses = machineAddresses().map(({ address }) => address);
  return [...new Set(['localhost', '127.0.0.1', '::1', ...names, ...addresses])];
}

/** Returns the URL of a host and port. */
export function urlOf(host: string, port: number, scheme: 'http' | 'https' = 'http'): string {
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
