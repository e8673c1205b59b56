import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import type { Seen, SeenChange } from '../../../shared/collection/event.ts';
import { call } from '../api/client.ts';
import { callKey, useCall } from '../api/useCall.ts';
import { describeError } from '../components/feedback/ErrorNote.tsx';
import { useIsOwner } from './session.ts';

const REFRESH_MS = 15_000;
const SEEN_KEY = callKey('readSeen', {});

/** What the owner has seen. */
export interface SeenEvents {
  marks: Seen;
  isUnseen: (event: number) => boolean;
}

/** Which events the owner has seen; undefined for visitors, and until the node has responded. */
export function useSeenEvents(): SeenEvents | undefined {
  const isOwner = useIsOwner();
  const { data: marks } = useCall('readSeen', {}, { enabled: isOwner, refetchInterval: REFRESH_MS });
  return useMemo(() => {
    if (!marks) return undefined;
    const exceptions = new Set(marks.exceptions);
    return { marks, isUnseen: (event) => event > marks.until !== exceptions.has(event) };
  }, [marks]);
}

/** Returns a function that marks events and reads the lists filtered by these marks again. It never rejects. */
export function useMarkSeen(): (change: SeenChange) => Promise<void> {
  const client = useQueryClient();
  return useCallback(
    async (change) => {
      try {
        client.setQueryData(SEEN_KEY, await call('changeSeen', { body: change }));
        await client.invalidateQueries({
          queryKey: ['listEvents'],
          predicate: ({ queryKey }) => JSON.stringify(queryKey).includes('"seen"'),
        });
      } catch (error) {
        notifications.show({ color: 'red', message: describeError(error).sentence });
      }
    },
    [client],
  );
}
