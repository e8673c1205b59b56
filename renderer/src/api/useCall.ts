import {
  keepPreviousData,
  type Query,
  type QueryClient,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useCallback, useEffect } from 'react';
import type { Job } from '../../../shared/node/job.ts';
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

const SOURCE_READS = ['listWatchedSources', 'readWatchedSource', 'listSources', 'listProfiles'] as const;
const FINDING_READS = ['listFindings', 'listSealedFindings', 'listFindingTags', 'readFinding'] as const;
/** What says whether bytes are shown, or shows them. */
const BYTE_READS = [
  'listWithheld',
  'readWithheldState',
  'listWithheldObjects',
  'readPack',
  'listSetEntries',
  'readPage',
  'readEvent',
  'readObjectView',
  'readPageResources',
  'readObjectMetadata',
  'readObjectText',
  'readDiff',
  'listCopies',
] as const;
const PACK_READS = ['listPacks', 'readStats', 'readStudy', 'listStudies', 'readNode', 'readTree'] as const;
const PEER_READS = ['listPeers', 'readPeer', 'listNearbyNodes'] as const;

/**
 * Which reads a write makes outdated: what is shown of them is requested again after it. A write that starts a job
 * changes them once more when the job ends (`useReloadAfter`).
 */
const OUTDATED_READS = {
  addComment: ['listComments'],
  createStudy: ['listStudies', 'readNode'],
  setStudyStatus: ['listStudies', 'readStudy'],
  createNode: ['readTree', 'readNode'],
  flagPack: ['listPacks', 'readPack'],
  deleteDraft: ['listDrafts'],
  removeOldFolder: ['readDataFolder'],

  addFinding: FINDING_READS,
  withdrawFinding: FINDING_READS,
  revealFinding: FINDING_READS,
  createCase: ['listCases'],
  changeCase: ['listCases', 'readCase'],
  addCaseItem: ['listCases', 'readCase'],
  deleteCase: ['listCases'],

  addSource: SOURCE_READS,
  changeSource: SOURCE_READS,
  removeSource: SOURCE_READS,
  addProfile: ['listProfiles'],
  changeProfile: SOURCE_READS,
  removeProfile: SOURCE_READS,
  importSources: [...SOURCE_READS, 'readStats'],
  approveFound: ['listFound', ...SOURCE_READS],
  refuseFound: ['listFound', ...SOURCE_READS],
  collect: [...SOURCE_READS, 'listRetrievals', 'listEvents', 'listFound', 'listPages'],
  capturePage: [...SOURCE_READS, 'listEvents', 'listPages'],
  fetchMissing: SOURCE_READS,
  // A drawing is kept under an id of its own and changes nothing.
  drawPage: [],
  drawUrl: [],
  importCaptures: [...SOURCE_READS, 'listEvents', 'readStats'],
  runNoiseRules: ['listEvents'],

  startAudit: ['readStatus', 'listAudits', 'listDamages', 'listDamagedFiles'],
  requestTimestamps: ['listTimestamps', 'readAuthorities'],
  submitToWitnesses: ['readWitnesses'],
  addWitnessedLog: ['listWitnessedLogs'],
  removeWitnessedLog: ['listWitnessedLogs'],

  withhold: BYTE_READS,
  show: BYTE_READS,
  release: [...BYTE_READS, 'listReleased', 'readStats', 'readStatus'],

  addAlert: ['listAlerts'],
  changeAlert: ['listAlerts'],
  removeAlert: ['listAlerts', 'listDeliveries'],
  testAlert: ['listDeliveries'],
  retryDelivery: ['listDeliveries'],

  changeSettings: ['readSettings', 'readAddresses', 'readAuthorities'],
  confirmClock: ['readClock', 'readStatus'],
  setSharing: ['readSharing', 'readAddresses'],
  createInvitation: ['listInvitations'],
  revokeInvitation: ['listInvitations'],
  endSession: ['listSessions'],
  createPairingCode: ['listPairings'],
  revokePairing: ['listPairings'],

  addCopy: ['listCopies'],
  changeCopy: ['listCopies'],
  removeCopy: ['listCopies'],
  syncCopy: ['listCopies'],
  keepKeyInCopy: ['listCopies'],
  removeKeyFromCopy: ['listCopies'],
  markCopyLost: ['listCopies', 'readOffload'],
  bringBack: ['readOffload'],

  addRepository: ['listRepositories'],
  removeRepository: ['listRepositories'],
  deposit: ['listDeposits', 'readPack', 'readCitation'],

  addPeer: PEER_READS,
  changePeer: PEER_READS,
  contactPeer: PEER_READS,
  removePeer: PEER_READS,
  setSourceObservers: ['readSourceObservers'],
  decidePeerProposal: [...BYTE_READS, 'listPeerProposals', 'listPeers', 'readPeer'],
  mirrorPeer: ['listPeers', 'readPeer', 'listPeerProposals', 'browsePeerPacks', 'browsePeerEvents'],
} as const satisfies { readonly [Name in RouteName]?: readonly RouteName[] };

/** A route that changes what the node holds, and of which is known what it changes. */
export type WriteName = keyof typeof OUTDATED_READS;

/** The routes by which something is changed without `useSave`, such as uploads, and what they make outdated. */
const OUTDATED_BY_OTHERS: { readonly [Name in RouteName]?: readonly RouteName[] } = {
  addPack: PACK_READS,
  publishDraft: [...PACK_READS, 'listDrafts'],
  changeSeen: ['readSeen', 'listEvents'],
  createDraft: ['listDrafts'],
  changeDraft: ['listDrafts'],
  importRecord: ['listDrafts'],
  handIn: ['listEvents', 'readStats', ...SOURCE_READS, ...FINDING_READS],
  pair: ['listPairings'],
  signOut: ['listSessions'],
};

/**
 * Requests again what another window or browser changed. Only what is shown is requested, and forms keep what is typed: their
 * values are read once.
 */
export function reloadWrittenElsewhere(queries: QueryClient, written: RouteName): void {
  const outdated = { ...OUTDATED_BY_OTHERS, ...OUTDATED_READS } as Partial<
    Record<RouteName, readonly RouteName[]>
  >;
  for (const name of outdated[written] ?? []) void queries.invalidateQueries({ queryKey: callKey(name) });
}

/** Returns a function that requests again what a write made outdated. It resolves when the answers are there. */
export function useReload(): (written: WriteName) => Promise<void> {
  const queries = useQueryClient();
  return useCallback(
    async (written) => {
      const requestAgain = async (queryKey: readonly unknown[]) => {
        await queries.invalidateQueries({ queryKey });
        // This window also hears of its own write, which replaces the request: then that one is awaited.
        const isRequested = ({ state }: Query) => state.fetchStatus === 'fetching';
        await queries.refetchQueries({ queryKey, predicate: isRequested }, { cancelRefetch: false });
      };
      await Promise.all(OUTDATED_READS[written].map((name) => requestAgain(callKey(name))));
    },
    [queries],
  );
}

/** Requests again what a job changed, once it has ended. */
export function useReloadAfter(job: Job | undefined, written: WriteName): void {
  const reload = useReload();
  const state = job?.state;
  useEffect(() => {
    if (state && state !== 'running') void reload(written);
  }, [state, reload, written]);
}

export interface SaveOptions<Response, Input> {
  /** Runs before anything is requested again. */
  onSaved?: (response: Response, input: Input) => unknown;
  onError?: (error: Error, input: Input) => void;
  /** Writes of the same scope are sent one after another. */
  scope?: string;
}

/**
 * A write by route name. Afterwards what it made outdated is requested again: also after a failure, because the node may
 * have received it, or may have refused it for what somebody else changed.
 */
export function useSave<Name extends WriteName, Input = void>(
  name: Name,
  request: (input: Input) => CallOptions<RouteTable[Name]> | Promise<CallOptions<RouteTable[Name]>>,
  { onSaved, onError, scope }: SaveOptions<ResponseOf<RouteTable[Name]>, Input> = {},
): UseMutationResult<ResponseOf<RouteTable[Name]>, Error, Input> {
  const reload = useReload();
  return useMutation({
    scope: scope === undefined ? undefined : { id: scope },
    mutationFn: async (input: Input) => call(name, await request(input)),
    onSuccess: (response, input) => onSaved?.(response, input),
    onError,
    onSettled: () => reload(name),
  });
}
