import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { AnswerOf } from '../../../shared/routes/route.ts';
import type { RouteName, RouteTable } from '../../../shared/routes.ts';
import { type CallOptions, call } from './client.ts';

type Asked<Name extends RouteName> = Pick<CallOptions<RouteTable[Name]>, 'params' | 'query'>;

/** The key under which an answer is kept; without `asked`, of every answer of the route. */
export function answerKey<Name extends RouteName>(name: Name, asked?: Asked<Name>): readonly unknown[] {
  return asked ? [name, asked.params ?? {}, asked.query ?? {}] : [name];
}

export interface UseCallOptions {
  enabled?: boolean;
  /** Shows the answer to the last question until the next one's is there: for lists that are filtered and paged. */
  keepPrevious?: boolean;
  refetchInterval?: number;
}

/** Reads a route of the node and keeps the answer at hand for every page. */
export function useCall<Name extends RouteName>(
  name: Name,
  asked: Asked<Name> = {},
  { enabled = true, keepPrevious = false, refetchInterval }: UseCallOptions = {},
): UseQueryResult<AnswerOf<RouteTable[Name]>> {
  return useQuery<AnswerOf<RouteTable[Name]>>({
    queryKey: answerKey(name, asked),
    queryFn: ({ signal }) => call(name, { ...asked, signal }),
    enabled,
    refetchInterval,
    placeholderData: keepPrevious ? keepPreviousData : undefined,
  });
}
