import { Button, Group } from '@mantine/core';
import { IconDownload, IconPlus } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { PAIRING_MINUTES, type PairedBrowser } from '../../../../shared/node/pairing.ts';
import { urlOf } from '../../api/client.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { type Column, DataTable, timeColumn } from '../../components/data/DataTable.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { CopyButton, IconButton } from '../../components/forms/buttons.tsx';
import { bookmarklet } from '../handedIn/handIn.ts';
import { SettingsGroup } from './SettingsForm.tsx';
import classes from './SettingsPage.module.css';

/** More browsers than can be paired. */
const SHOWN = 100;
const WATCH_MS = 2_000;

/** The browser extension: how to get it, the browsers that are paired, and a bookmarklet for those that cannot have it. */
export function BrowserExtension() {
  return (
    <SettingsGroup
      title="Browser extension"
      meaning="One click archives what your browser shows, also behind a login. A paired browser can hand in pages and watch links. It can read nothing but the titles of your cases."
    >
      <div className="stack gap-6">
        <Installation />
        <Pairing />
        <Bookmarklet />
      </div>
    </SettingsGroup>
  );
}

function Installation() {
  return (
    <div className="stack gap-3 items-start">
      <Button
        component="a"
        href={urlOf('readExtension')}
        download
        variant="default"
        leftSection={<IconDownload size={16} aria-hidden />}
      >
        Download the extension
      </Button>
      <ol className="stack gap-1">
        <li>Unpack the file into a folder that stays.</li>
        <li>
          In Chrome, Edge or another Chromium, open <code>chrome://extensions</code> and turn on “Developer
          mode”.
        </li>
        <li>Choose “Load unpacked” and select the folder. Its options open: pair it there.</li>
      </ol>
      <p className="muted small">
        In Firefox, open <code>about:debugging</code>, “This Firefox”, “Load Temporary Add-on”, and choose the
        downloaded file.
      </p>
    </div>
  );
}

/** Shows a code, and the browsers that are paired. */
function Pairing() {
  const create = useSave('createPairingCode', () => ({}));
  const [paired, setPaired] = useState('');
  const shown = paired === '' ? create.data : undefined;
  const answer = useCall(
    'listPairings',
    { query: { limit: SHOWN } },
    shown ? { refetchInterval: WATCH_MS } : undefined,
  );
  const browsers = answer.data?.items;
  const [known, setKnown] = useState<ReadonlySet<string>>(new Set());
  // The one that used the code was not there before.
  const added = shown && browsers?.find(({ id }) => !known.has(id));
  // It stays said when that browser is revoked.
  if (added && paired === '') setPaired(nameOf(added));
  const show = () => {
    setKnown(new Set(browsers?.map(({ id }) => id)));
    setPaired('');
    create.mutate();
  };
  return (
    <div className="stack gap-4 items-start">
      {shown ? (
        <Code
          key={shown.code}
          code={shown.code}
          expiresAt={Date.parse(shown.expires_at)}
          onNew={show}
          onDone={create.reset}
        />
      ) : (
        <IconButton icon={IconPlus} loading={create.isPending} disabled={!browsers} onClick={show}>
          Pair a browser
        </IconButton>
      )}
      <output className="good">{paired && `Paired: ${paired}.`}</output>
      {create.error && <ErrorNote error={create.error} />}
      {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
      {browsers && browsers.length > 0 && <BrowserList browsers={browsers} />}
    </div>
  );
}

interface CodeProps {
  code: string;
  expiresAt: number;
  onNew: () => void;
  onDone: () => void;
}

/** The address and the code that the options of the extension ask for. */
function Code({ code, expiresAt, onNew, onDone }: CodeProps) {
  const secondsLeft = useSecondsUntil(expiresAt);
  const { origin } = window.location;
  return (
    <section aria-label="Pair a browser" className={`${classes.code} stack gap-4 items-start sheet`}>
      <p>Enter these in the options of the extension.</p>
      <dl className="stack gap-3">
        <div>
          <dt className="muted small">Address</dt>
          <dd>
            <Group gap="xs" wrap="nowrap">
              <span className="mono wrap-anywhere">{origin}</span>
              <CopyButton text={origin} what="the address" />
            </Group>
          </dd>
        </div>
        <div>
          <dt className="muted small">Code</dt>
          <dd>
            <Group gap="xs" wrap="nowrap">
              <span className={`${classes.digits} mono`} data-old={secondsLeft === 0 || undefined}>
                {code}
              </span>
              <CopyButton text={code} what="the code" />
            </Group>
          </dd>
        </div>
      </dl>
      <p className="muted small">
        {secondsLeft > 0
          ? `It pairs one browser. It is valid for another ${minutesOf(secondsLeft)}, and takes five wrong codes from an address.`
          : `This code was valid for ${PAIRING_MINUTES} minutes.`}
      </p>
      <Group gap="sm">
        <Button variant="default" size="xs" onClick={onDone}>
          Done
        </Button>
        <Button variant="subtle" size="xs" onClick={onNew}>
          Show a new code
        </Button>
      </Group>
    </section>
  );
}

function useSecondsUntil(end: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return Math.max(0, Math.ceil((end - now) / 1_000));
}

function minutesOf(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} minutes`;
}

/** The paired browsers, newest first, with their use. */
function BrowserList({ browsers }: { browsers: readonly PairedBrowser[] }) {
  const revoke = useSave('revokePairing', (id: string) => ({ params: { id } }));
  const columns: Column<PairedBrowser>[] = [
    { id: 'name', header: 'Browser', cell: nameOf },
    timeColumn('Paired', ({ created_at }) => created_at, { hideBelow: 'narrow' }),
    timeColumn('Last used', ({ last_used_at }) => last_used_at),
    {
      id: 'revoke',
      header: 'Revoke',
      isHeaderHidden: true,
      width: '6rem',
      align: 'end',
      cell: (browser) => (
        <Button
          variant="subtle"
          color="red"
          size="compact-sm"
          aria-label={`Revoke ${nameOf(browser)}`}
          loading={revoke.isPending && revoke.variables === browser.id}
          onClick={() => revoke.mutate(browser.id)}
        >
          Revoke
        </Button>
      ),
    },
  ];
  return (
    <div className="full">
      {revoke.error && <ErrorNote error={revoke.error} />}
      <DataTable caption="Paired browsers" columns={columns} rows={browsers} rowKey={({ id }) => id} />
    </div>
  );
}

function nameOf({ name }: PairedBrowser): string {
  return name || 'an unnamed browser';
}

/** A link for the bookmarks bar. React refuses scripts as addresses, so the address is set on the element. */
function Bookmarklet() {
  const [isClicked, setIsClicked] = useState(false);
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    const show = (event: Event) => {
      event.preventDefault();
      setIsClicked(true);
    };
    const element = link.current;
    element?.setAttribute('href', bookmarklet(window.location.origin));
    element?.addEventListener('click', show);
    return () => element?.removeEventListener('click', show);
  }, []);
  return (
    <div className="stack gap-2 items-start">
      <h3 className={classes.small}>Without the extension</h3>
      <p className="muted small">
        Drag this to the bookmarks bar. On a page, it sends the text of the page and your selection to the
        form for a file, where you look at it first. Pictures and styles are not sent.
      </p>
      {/* Its address is set above. */}
      {/* oxlint-disable-next-line jsx-a11y/anchor-is-valid */}
      <a ref={link} className={classes.bookmarklet}>
        Hand in to Strongroom
      </a>
      <output className="small">
        {isClicked && 'Drag it to the bookmarks bar, and click it there while you are on a page.'}
      </output>
    </div>
  );
}
