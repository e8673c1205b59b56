import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { ResponseOf } from '../../../shared/routes/route.ts';
import type { RouteName, RouteTable } from '../../../shared/routes.ts';
import { type CallOptions, call } from './client.ts';

type CallInput<Name extends RouteName> = Pick<CallOptions<RouteTable[Name]>, 'params' | 'query'>;

/** The cache key of a response. Without `asked`, it matches every response of the route. */
export function callKey<Name extends RouteName>(name: Name, input?: CallInput<Name>): readonly unknown[] {
  return input ? [name, input.params ?? {}, input.query ?? {}] : [name];
}

export interface UseCallOptions {
  enabled?: boolean;
  /** Keeps showing the previous response until the next one has arrived. For filtered and paginated lists. */
  keepPrevious?: boolean;
  refetchInterval?: number;
}

/** Requests a route of the node. Responses are cached and shared between pages. */
export function useCall<Name extends RouteName>(
  name: Name,
  input: CallInput<Name> = {},
  { enabled = true, keepPrevious = false, refetchInterval }: UseCallOptions = {},
): UseQueryResult<ResponseOf<RouteTable[Name]>> {
  return useQuery<ResponseOf<RouteTable[Name]>>({
    queryKey: callKey(name, input),
    queryFn: ({ signal }) => call(name, { ...input, signal }),
    enabled,
    refetchInterval,
    placeholderData: keepPrevious ? keepPreviousData : undefined,
  });
}
