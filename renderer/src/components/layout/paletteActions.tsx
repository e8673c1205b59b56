import { notifications } from '@mantine/notifications';
// An action has the icon of its page: further icons would make the first script larger.
import {
  IconBook2,
  IconHistory,
  IconMoon,
  IconPackageImport,
  IconShare,
  IconSun,
  IconWorldSearch,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { NavigateFunction } from 'react-router';
import type { SharingMode } from '../../../../shared/node/settings.ts';
import { call } from '../../api/client.ts';
import type { Zone } from '../../state/displaySettings.ts';
import { useJobs } from '../../state/jobs.ts';
import { useSession } from '../../state/session.ts';

/** Something that the palette does, rather than finds. */
export interface PaletteAction {
  id: string;
  label: string;
  description?: string;
  /** Further words by which it is found. */
  words: string;
  icon: ReactNode;
  /** Works on every page, except while someone types. */
  keys?: string;
  /** May reject: the palette then shows the error. */
  run: () => void | Promise<void>;
}

/** Who uses the palette, and what the actions need from it. */
interface ActionContext {
  owner: boolean;
  mayContribute: boolean;
  sharing: SharingMode;
  scheme: 'light' | 'dark' | 'auto';
  zone: Zone;
  /** What is typed, if it is an address that could be watched. */
  address: string | undefined;
  navigate: NavigateFunction;
  setScheme: (scheme: 'light' | 'dark' | 'auto') => void;
  setZone: (zone: Zone) => void;
}

/** The actions that this person may take now. */
export function actionsFor(context: ActionContext): PaletteAction[] {
  return [
    ...contributions(context),
    ...(context.owner ? collection(context) : []),
    ...verification(context),
    ...(context.owner ? sharing(context) : []),
    ...look(context),
  ];
}

/** The actions whose words begin with the typed words. An address finds what can be done with it. */
export function matchingActions(actions: readonly PaletteAction[], typed: string): PaletteAction[] {
  const typedWords = wordsOf(typed);
  return actions.filter(({ label, words }) => {
    const known = wordsOf(`${label} ${words}`);
    return typedWords.every((word) => known.some((candidate) => candidate.startsWith(word)));
  });
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

function contributions({ mayContribute, navigate }: ActionContext): PaletteAction[] {
  if (!mayContribute) return [];
  return [
    {
      id: 'new-pack',
      label: 'New pack',
      words: 'publish upload add create assemble files',
      icon: <IconPackageImport size={18} aria-hidden />,
      keys: 'N',
      run: () => navigate('/assemble'),
    },
  ];
}

function collection({ address, navigate }: ActionContext): PaletteAction[] {
  return [
    {
      id: 'watch',
      label: address ? `Watch ${address}` : 'Watch a source',
      words: `add new url address page collect monitor ${address ?? ''}`,
      icon: <IconWorldSearch size={18} aria-hidden />,
      keys: 'W',
      run: async () => {
        if (address) await watch(address);
        await navigate('/sources?add');
      },
    },
    {
      id: 'page',
      label: address ? `Capture ${address} now` : 'Capture a page now',
      description: 'As a person sees it, once',
      words: `screenshot picture draw browser page web ${address ?? ''}`,
      icon: <IconWorldSearch size={18} aria-hidden />,
      run: () => navigate(`/sources?page=${encodeURIComponent(address ?? '')}`),
    },
    {
      id: 'check',
      label: 'Check all sources now',
      words: 'collect fetch refresh run round',
      icon: <IconWorldSearch size={18} aria-hidden />,
      keys: 'C',
      run: async () => {
        await navigate('/sources');
        await startCheck();
      },
    },
    {
      id: 'list',
      label: 'Add a list of sources',
      words: 'import csv opml bookmarks urls watch',
      icon: <IconWorldSearch size={18} aria-hidden />,
      run: () => navigate('/sources?list'),
    },
    {
      id: 'captures',
      label: 'Import captures',
      words: 'warc wacz memento timemap',
      icon: <IconWorldSearch size={18} aria-hidden />,
      run: () => navigate('/sources?captures'),
    },
  ];
}

function verification({ owner, navigate }: ActionContext): PaletteAction[] {
  const actions: PaletteAction[] = [
    {
      id: 'verify',
      label: 'Verify the ledger',
      words: 'check proof entries recompute',
      icon: <IconBook2 size={18} aria-hidden />,
      keys: 'V',
      run: async () => {
        await navigate('/ledger');
        await startVerification(owner);
      },
    },
    {
      id: 'checkpoint',
      label: 'Save checkpoint',
      words: 'ledger download head root signed note',
      icon: <IconBook2 size={18} aria-hidden />,
      run: saveCheckpoint,
    },
  ];
  if (!owner) return actions;
  actions.push({
    id: 'audit',
    label: 'Start integrity check',
    description: 'Re-hashes all stored bytes',
    words: 'integrity check verify stored bytes disk damage hash re-check',
    icon: <IconBook2 size={18} aria-hidden />,
    run: startAudit,
  });
  return actions;
}

function sharing({ sharing: mode, navigate }: ActionContext): PaletteAction[] {
  const change = (next: SharingMode) => async () => {
    // The page says what visitors will see, and asks.
    if (mode === 'off') return navigate(`/sharing?share=${next}`);
    await applySharing(next);
    await navigate('/sharing');
  };
  const actions: PaletteAction[] = [
    {
      id: 'share-read',
      label: 'Share for reading',
      words: 'network open visitors publish lan access',
      icon: <IconShare size={18} aria-hidden />,
      run: change('read'),
    },
    {
      id: 'share-contribute',
      label: 'Share for contributions',
      words: 'network open visitors write upload lan access',
      icon: <IconShare size={18} aria-hidden />,
      run: change('contribute'),
    },
    {
      id: 'share-off',
      label: 'Stop sharing',
      words: 'off close network private visitors access',
      icon: <IconShare size={18} aria-hidden />,
      run: change('off'),
    },
  ];
  const current = { read: 'share-read', contribute: 'share-contribute', off: 'share-off' }[mode];
  return [
    ...actions.filter(({ id }) => id !== current),
    {
      id: 'invite',
      label: 'Invite somebody',
      words: 'invitation share token link qr code visitor',
      icon: <IconShare size={18} aria-hidden />,
      run: () => navigate('/sharing'),
    },
  ];
}

function look({ scheme, zone, setScheme, setZone }: ActionContext): PaletteAction[] {
  const words = 'theme look appearance colour color mode';
  const schemes: [typeof scheme, string, ReactNode][] = [
    ['light', 'Light theme', <IconSun key="light" size={18} aria-hidden />],
    ['dark', 'Dark theme', <IconMoon key="dark" size={18} aria-hidden />],
    ['auto', 'System theme', <IconMoon key="auto" size={18} aria-hidden />],
  ];
  return [
    ...schemes
      .filter(([value]) => value !== scheme)
      .map(([value, label, icon]) => ({
        id: `theme-${value}`,
        label,
        words,
        icon,
        run: () => setScheme(value),
      })),
    {
      id: 'zone',
      label: zone === 'utc' ? 'Show times in local time' : 'Show times in UTC',
      words: 'time zone clock look',
      icon: <IconHistory size={18} aria-hidden />,
      run: () => setZone(zone === 'utc' ? 'local' : 'utc'),
    },
  ];
}

// What belongs to a page is loaded when it is used, so that the first script stays small.

/** Fills the form for a new source. */
async function watch(address: string): Promise<void> {
  const { useNewSourceDraft } = await import('../../pages/sources/sourceForm.ts');
  useNewSourceDraft.getState().change({ url: address });
}

/** Checks all sources. The page Sources shows the progress and any error. */
async function startCheck(): Promise<void> {
  const { useCollectionRun } = await import('../../pages/sources/runs.ts');
  await useCollectionRun.getState().start({ what: 'all sources' });
}

/** Verifies the ledger. The page Ledger shows the progress and the result. */
async function startVerification(isOwner: boolean): Promise<void> {
  const { useNodeVerification } = await import('../../pages/ledger/ledgerActions.ts');
  await useNodeVerification.getState().start(isOwner);
}

async function saveCheckpoint(): Promise<void> {
  const module = await import('../../pages/ledger/ledgerActions.ts');
  await module.saveCheckpoint();
}

/** Starts an audit, which the jobs tray shows. */
async function startAudit(): Promise<void> {
  const answer = await call('startAudit');
  if ('id' in answer) useJobs.getState().updateNodeJob(answer);
}

const SHARED: Record<SharingMode, string> = {
  off: 'Sharing is off.',
  read: 'The archive is shared for reading.',
  contribute: 'The archive is shared for contributions.',
};

/** Changes the sharing mode. The node decides whether an invitation is required. */
async function applySharing(mode: SharingMode): Promise<void> {
  await call('setSharing', { body: { mode } });
  await useSession.getState().load();
  notifications.show({ message: SHARED[mode] });
}
