import { useQueries } from '@tanstack/react-query';
import type { ReleasedReason, WithheldState } from '../../../shared/node/withheld.ts';
import { call } from '../api/client.ts';
import { callKey, useCall } from '../api/useCall.ts';
import { useSession } from './session.ts';

/** What can be withheld. Exactly one member is given. */
export type WithheldTarget = { sha256: string } | { retrieval: number } | { pack: string } | { page: string };

/** Why bytes are not shown to visitors or, if they were given up or never came, to anybody. */
export interface Hidden {
  kind: 'withheld' | 'released';
  reason: ReleasedReason;
  since: string;
  /** The peer that withholds or released bytes which this node never had; absent if this node does. */
  peer?: string;
}

const NOTHING: WithheldState = { withheld: [], released: null, absent: null };

/** Returns whether the archive withholds or has given up anything; undefined until it is known. */
function useIsAny(): boolean | undefined {
  const withheld = useCall('listWithheld', { query: { limit: 1 } });
  const released = useCall('listReleased', { query: { limit: 1 } });
  if ((withheld.data?.total ?? 0) + (released.data?.total ?? 0) > 0) return true;
  return withheld.isPending || released.isPending ? undefined : false;
}

function useWithheldStates(targets: readonly WithheldTarget[]): (WithheldState | undefined)[] {
  const isAny = useIsAny();
  return useQueries({
    queries: targets.map((query) => ({
      queryKey: callKey('readWithheldState', { query: { ...query } }),
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        call('readWithheldState', { query: { ...query }, signal }),
      enabled: isAny === true,
    })),
    // If it cannot be known, the bytes are asked for, and the node decides.
    combine: (answers) =>
      answers.map(({ data, isError }) => (isAny === false || isError ? NOTHING : isAny ? data : undefined)),
  });
}

/** What withholds it; undefined until it is known. In an archive that withholds nothing, no request is sent for it. */
export function useWithheldState(target: WithheldTarget): WithheldState | undefined {
  return useWithheldStates([target])[0];
}

/** Returns what hides bytes from visitors: that they were given up, or the oldest withholding. */
export function hiddenBy({ withheld: [oldest], released }: WithheldState): Hidden | null {
  if (released) return { kind: 'released', reason: released.reason, since: released.at };
  return oldest ? { kind: 'withheld', reason: oldest.reason, since: oldest.at } : null;
}

/** Returns why not even the owner has the bytes, if a peer did not give them. */
function absentBy({ absent, released }: WithheldState): Hidden | null {
  if (!absent || released) return null;
  const { state: kind, ...rest } = absent;
  return { kind, ...rest };
}

/**
 * Why the person cannot read what is made of these; null if they can, and undefined until it is known. What is hidden need
 * not be asked for.
 */
export function useHidden(...targets: readonly WithheldTarget[]): Hidden | null | undefined {
  const isOwner = useSession(({ session }) => session?.owner);
  const states = useWithheldStates(targets);
  const known = states.filter((state) => state !== undefined);
  const hidden = known.flatMap((state) => (isOwner && absentBy(state)) || (hiddenBy(state) ?? []));
  const first = hidden.find(
    ({ kind, peer }) => kind === 'released' || peer !== undefined || isOwner === false,
  );
  if (first) return first;
  return known.length < states.length || (hidden.length > 0 && isOwner === undefined) ? undefined : null;
}
