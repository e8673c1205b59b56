import { isIP } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Network } from '../fetch/attempt.ts';

/** Names that nobody can own, so that no stranger decides where they lead (RFC 6761, 6762, 8375, and ICANN's `internal`). */
const NOBODYS_NAMES = /(^|\.)(localhost|local|internal|home\.arpa)$/;
/** A name that is not answered for by then is taken as public. */
const LOOKUP_MS = 3_000;
/** All the names of a list together; those that are left over are taken as public. */
const LIST_LOOKUP_MS = 2_000;

/** The host of an address, as names and addresses are looked up. */
function hostOf(url: string): string {
  return (URL.parse(url)?.hostname ?? '').replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/** Whether an address itself says that it may lead to a private place: a private IP address, or a name that is only known at home. */
function isPrivateByItself(host: string, isPrivateAddress: Network['isPrivateAddress']): boolean {
  if (isIP(host) !== 0) return isPrivateAddress(host);
  return NOBODYS_NAMES.test(host) || (host !== '' && !host.includes('.'));
}

/** Whether a source may be at a private address: as was decided when it was added, else as its address says. */
export function allowsPrivateAddress(
  { url, allow_private }: { url: string; allow_private: boolean | null },
  isPrivateAddress: Network['isPrivateAddress'],
): boolean {
  return allow_private ?? isPrivateByItself(hostOf(url), isPrivateAddress);
}

/**
 * Decides, at the moment in which owners add their sources, whether each may be at a private address: where the address
 * says so itself, or where its name leads to private addresses alone. A name that cannot be resolved is public.
 */
export class PrivateAddressCheck {
  readonly #network: Network;
  readonly #until: number;
  readonly #decided = new Map<string, Promise<boolean>>();

  /** @param count how many are added together. */
  constructor(network: Network, count = 1) {
    this.#network = network;
    this.#until = performance.now() + (count === 1 ? LOOKUP_MS : LIST_LOOKUP_MS);
  }

  of(url: string): Promise<boolean> {
    const host = hostOf(url);
    const decided = this.#decided.get(host) ?? this.#decide(host);
    this.#decided.set(host, decided);
    return decided;
  }

  async #decide(host: string): Promise<boolean> {
    const { lookup, isPrivateAddress } = this.#network;
    if (host === '' || isIP(host) !== 0 || isPrivateByItself(host, isPrivateAddress))
      return isPrivateByItself(host, isPrivateAddress);
    const left = Math.min(LOOKUP_MS, this.#until - performance.now());
    if (left <= 0) return false;
    const over = new AbortController();
    // Which error it was does not matter: where a name leads that cannot be looked up is not known.
    const looked = lookup(host).catch(() => []);
    const addresses = await Promise.race([looked, wait(left, [], { signal: over.signal, ref: false })]);
    over.abort();
    return addresses.length > 0 && addresses.every(({ address }) => isPrivateAddress(address));
  }
}
