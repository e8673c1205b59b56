import { isIP } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Network } from '../fetch/requester.ts';

/** Names that nobody can register (RFC 6761, 6762, 8375, and ICANN's `internal`), so no stranger controls them. */
const LOCAL_NAMES = /(^|\.)(localhost|local|internal|home\.arpa)$/;
/** A name that is not resolved within this time counts as public. */
const LOOKUP_MS = 3_000;
/** The time for all names of a list. Names that are not resolved by then count as public. */
const LIST_LOOKUP_MS = 2_000;

/** Returns the host of a URL without brackets and trailing dot. */
function hostOf(url: string): string {
  return (URL.parse(url)?.hostname ?? '').replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/** Returns whether a host is private without a DNS lookup: a private IP address, or a name of the local network. */
function isPrivateName(host: string, isPrivateAddress: Network['isPrivateAddress']): boolean {
  if (isIP(host) !== 0) return isPrivateAddress(host);
  return LOCAL_NAMES.test(host) || (host !== '' && !host.includes('.'));
}

/** Returns whether the host of a URL is private, as far as that is known without a DNS lookup. */
export function isPrivateHost(url: string, isPrivateAddress: Network['isPrivateAddress']): boolean {
  return isPrivateName(hostOf(url), isPrivateAddress);
}

/** Returns whether a source may be at a private address. If it was not decided when it was added, its URL decides. */
export function allowsPrivateAddress(
  { url, allow_private }: { url: string; allow_private: boolean | null },
  isPrivateAddress: Network['isPrivateAddress'],
): boolean {
  return allow_private ?? isPrivateHost(url, isPrivateAddress);
}

/**
 * Returns `allowPrivateAddress` for the first address of an import that the owner starts now, by the rule for a source that
 * is added now. Undefined leaves it to the first host that responds.
 */
export async function privateRuleFor(network: Network, url: string): Promise<false | undefined> {
  return (await new PrivateAddressCheck(network).allows(url)) ? undefined : false;
}

/**
 * Decides whether new sources may be at a private address. A source may if its host is private, or if its name resolves
 * to private addresses only. A name that cannot be resolved counts as public.
 */
export class PrivateAddressCheck {
  readonly #network: Network;
  readonly #until: number;
  readonly #decisions = new Map<string, Promise<boolean>>();

  /** @param count the number of sources that are added together. */
  constructor(network: Network, count = 1) {
    this.#network = network;
    this.#until = performance.now() + (count === 1 ? LOOKUP_MS : LIST_LOOKUP_MS);
  }

  /** Returns whether the source with this URL may be at a private address. */
  allows(url: string): Promise<boolean> {
    const host = hostOf(url);
    const decision = this.#decisions.get(host) ?? this.#decide(host);
    this.#decisions.set(host, decision);
    return decision;
  }

  async #decide(host: string): Promise<boolean> {
    const { lookup, isPrivateAddress } = this.#network;
    const isPrivate = isPrivateName(host, isPrivateAddress);
    if (host === '' || isIP(host) !== 0 || isPrivate) return isPrivate;
    const left = Math.min(LOOKUP_MS, this.#until - performance.now());
    if (left <= 0) return false;
    const timer = new AbortController();
    // Any lookup error means that the addresses are unknown.
    const resolved = lookup(host).catch(() => []);
    const addresses = await Promise.race([resolved, wait(left, [], { signal: timer.signal, ref: false })]);
    timer.abort();
    return addresses.length > 0 && addresses.every(({ address }) => isPrivateAddress(address));
  }
}
