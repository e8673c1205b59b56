import { BlockList } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Returns the network of one of the machine's IPv4 addresses; an empty one if the machine does not have the address. */
export function networkOf(address: string): BlockList {
  const network = new BlockList();
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const prefix = own.find((each) => each.address === address)?.cidr?.split('/')[1];
  if (prefix !== undefined) network.addSubnet(address, Number(prefix));
  return network;
}
