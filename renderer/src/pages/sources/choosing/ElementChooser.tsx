import { Button, Modal, Radio } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import {
  type ReactNode,
  type RefObject,
  useEffect,
  useEffectEvent,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react';
import {
  type ChooserMessage,
  type ChooserMove,
  type ChooserRequest,
  type ChosenElement,
  chooserMessageSchema,
  type Watch,
  type WatchChoice,
  watchWords,
} from '../../../../../shared/collection/noise.ts';
import type { WatchedSource } from '../../../../../shared/collection/source.ts';
import { call, urlOf } from '../../../api/client.ts';
import { ticketed } from '../../../api/ownerSession.ts';
import { useCall } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import classes from '../sources.module.css';

interface ElementChooserProps {
  source: WatchedSource;
  onChoose: (watch: Watch) => void;
  onClose: () => void;
}

/** Chooses the part of a source that is watched, by clicking into its archived page. */
export function ElementChooser({ source, onChoose, onClose }: ElementChooserProps) {
  return (
    <Modal
      opened
      onClose={onClose}
      title="Choose a part of the page"
      fullScreen
      classNames={{ content: classes.window, body: classes.body }}
    >
      <NewestPage source={source}>
        {(address) => <Chooser source={source} address={address} onChoose={onChoose} onClose={onClose} />}
      </NewestPage>
    </Modal>
  );
}

interface NewestPageProps {
  source: WatchedSource;
  children: (address: string) => ReactNode;
}

/** Finds the document in which parts of a source are watched: as it was drawn, else as the server sent it. */
function NewestPage({ source, children }: NewestPageProps) {
  const { id, capture, last_page, last_sha256 } = source;
  const isDrawn = capture === 'page' && last_page !== null;
  const page = useCall('readPage', { params: { id: last_page ?? '' } }, { enabled: isDrawn });
  const sha256 = isDrawn ? page.data?.document : (last_sha256 ?? undefined);
  const view = useCall(
    'readObjectView',
    {
      params: { sha256: sha256 ?? '' },
      query: { source: id, at: isDrawn ? page.data?.started_at : undefined },
    },
    { enabled: sha256 !== undefined },
  );
  const selected = { params: { sha256: sha256 ?? '' }, query: { source: id, at: view.data?.at } };
  // Why a page cannot be made is said here: the frame could not say it.
  const made = useCall('readPageResources', selected, { enabled: view.data?.kind === 'html' });
  const error = page.error ?? view.error ?? made.error;
  if (error) return <ErrorNote error={error} />;
  if (view.data && view.data.kind !== 'html')
    return <p>The newest version is not a page, so there is nothing to click. Name the part in the form.</p>;
  if (!made.data) return <output className="muted">Preparing the page…</output>;
  return children(urlOf('readChoosingPage', selected));
}

const MOVES: readonly (readonly [ChooserMove, label: string, key: string])[] = [
  ['around', 'Around it', '↑'],
  ['inside', 'In it', '↓'],
  ['before', 'Before', '←'],
  ['after', 'After', '→'],
  ['beneath', 'Beneath', 'B'],
];

interface ChooserProps extends ElementChooserProps {
  address: string;
}

function Chooser({ source, address, onChoose, onClose }: ChooserProps) {
  const before = useRef<HTMLButtonElement>(null);
  const after = useRef<HTMLDivElement>(null);
  const find = useMutation({
    mutationFn: (body: ChosenElement) => call('findChosenPart', { params: { id: source.id }, body }),
  });
  const frame = useRef<HTMLIFrameElement>(null);
  // The ticket changes with time, and another address would load the page again.
  const src = useMemo(() => ticketed(address), [address]);
  const { shown, isByKey, chosen, isReady, ask } = useChooserFrame(frame, {
    onChosen: ({ element }) => element && find.mutate(element),
    onLeft: (to) => {
      // Before something is shown, the button before the page is disabled.
      if (to === 'after' || before.current?.disabled)
        after.current?.querySelector<HTMLElement>('input, button')?.focus();
      else before.current?.focus();
    },
  });
  return (
    <div className={classes.chooser}>
      <p className="small muted">
        Point at what matters and click it. By keyboard: the arrow keys in the page, or these buttons, move
        the frame; Enter chooses. Nothing in the page runs.
      </p>
      <div className="cluster gap-2" role="toolbar" aria-label="Move the frame">
        {MOVES.map(([move, label, key]) => (
          <Button key={move} variant="default" size="xs" disabled={!isReady} onClick={() => ask(move)}>
            {label}
            <kbd className={`${classes.key} muted tiny`} aria-hidden>
              {key}
            </kbd>
          </Button>
        ))}
        <Button ref={before} size="xs" variant="light" disabled={!shown} onClick={() => ask('choose')}>
          Choose this
        </Button>
        <output className={`${classes.shown} small truncate`} aria-live={isByKey ? 'polite' : 'off'}>
          {isReady ? shown && elementWords(shown) : 'Loading the page…'}
        </output>
      </div>
      <iframe
        ref={frame}
        title="The archived page"
        className={`${classes.frame} fill full`}
        src={src}
        sandbox="allow-scripts"
        referrerPolicy="no-referrer"
      />
      <div ref={after} className="rigid" aria-live="polite">
        {find.error && <ErrorNote error={find.error} />}
        {find.isPending && <output className="muted small">Looking for it in the newest version…</output>}
        {find.data && chosen ? (
          <Choices
            key={find.submittedAt}
            chosen={chosen}
            choices={find.data.choices}
            onChoose={onChoose}
            onClose={onClose}
          />
        ) : (
          <div className="cluster gap-2 between">
            <span className="small muted">{!chosen && 'Nothing is chosen yet.'}</span>
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
          </div>
        )}
      </div>
    </div>
  );
}

interface ChoicesProps extends Pick<ElementChooserProps, 'onChoose' | 'onClose'> {
  chosen: ShownElement;
  choices: readonly WatchChoice[];
}

/** The ways to name what was chosen. */
function Choices({ chosen, choices, onChoose, onClose }: ChoicesProps) {
  const [index, setIndex] = useState(0);
  const use = useRef<HTMLButtonElement>(null);
  const name = useId();
  useEffect(() => use.current?.focus(), []);
  const choice = choices[index];
  return (
    <div className="stack gap-2">
      {choice ? (
        <Radio.Group
          label={`Watch ${elementWords(chosen)} as`}
          name={name}
          value={String(index)}
          onChange={(value) => setIndex(Number(value))}
        >
          <div className={`${classes.options} stack gap-2 mt-2`}>
            {choices.map((each, at) => (
              <Radio
                key={JSON.stringify(each.watch)}
                value={String(at)}
                label={choiceWords(each)}
                description={
                  <span className={`${classes.chosenExcerpt} block truncate`}>
                    {!each.same && 'css' in each.watch && 'Its text differs. Check the preview. '}
                    {each.text || 'no text'}
                  </span>
                }
              />
            ))}
          </div>
        </Radio.Group>
      ) : (
        <p className="small">
          <strong>{elementWords(chosen)} has no name by which it is found again.</strong> Choose what is
          around it.
        </p>
      )}
      <div className="cluster gap-2 end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button ref={use} disabled={!choice} onClick={() => choice && onChoose(choice.watch)}>
          Use this part
        </Button>
      </div>
    </div>
  );
}

function choiceWords({ watch }: WatchChoice): string {
  if ('heading' in watch) return `${watchWords(watch)} and what follows it`;
  return 'css' in watch ? `This element: ${watch.css}` : watchWords(watch);
}

/** An element of the archived page, as its frame describes it. */
interface ShownElement {
  name: string;
  id: string;
  excerpt: string;
  /** Only of a chosen one. */
  element?: ChosenElement;
}

type Left = Extract<ChooserMessage, { chooser: 'left' }>['to'];

interface ChooserFrame {
  isReady: boolean;
  /** The element that is framed. */
  shown: ShownElement | undefined;
  /** Whether it was reached by keyboard: then it is read out. */
  isByKey: boolean;
  chosen: ShownElement | undefined;
  ask: (request: ChooserRequest['chooser']) => void;
}

/**
 * Talks to the frame in which an element is chosen. Its page has an origin of its own; messages count if they come from
 * this frame and have the form of one, whatever they say.
 */
function useChooserFrame(
  frame: RefObject<HTMLIFrameElement | null>,
  on: { onChosen: (chosen: ShownElement) => void; onLeft: (to: Left) => void },
): ChooserFrame {
  const [isReady, setIsReady] = useState(false);
  const [shown, setShown] = useState<ShownElement & { byKey: boolean }>();
  const [chosen, setChosen] = useState<ShownElement>();
  const receive = useEffectEvent(({ source, data }: MessageEvent<unknown>) => {
    if (source === null || source !== frame.current?.contentWindow) return;
    const parsed = chooserMessageSchema.safeParse(data);
    if (!parsed.success) return;
    const message = parsed.data;
    if (message.chooser === 'ready') setIsReady(true);
    else if (message.chooser === 'shown') setShown(message);
    else if (message.chooser === 'left') on.onLeft(message.to);
    else {
      setChosen(message);
      on.onChosen(message);
    }
  });
  useEffect(() => {
    const listen = (event: MessageEvent<unknown>) => receive(event);
    window.addEventListener('message', listen);
    return () => window.removeEventListener('message', listen);
  }, []);
  const ask = (chooser: ChooserRequest['chooser']) =>
    // Its origin is opaque, so it cannot be named. What is asked is no secret.
    frame.current?.contentWindow?.postMessage({ chooser } satisfies ChooserRequest, '*');
  return { isReady, shown, isByKey: shown?.byKey === true, chosen, ask };
}

const NAMES: Readonly<Record<string, string>> = {
  a: 'the link',
  article: 'the article',
  blockquote: 'the quotation',
  body: 'the whole page',
  button: 'the button',
  dd: 'the definition',
  figure: 'the figure',
  footer: 'the footer',
  form: 'the form',
  h1: 'the heading',
  h2: 'the heading',
  h3: 'the heading',
  h4: 'the heading',
  h5: 'the heading',
  h6: 'the heading',
  header: 'the header',
  img: 'the image',
  li: 'the list item',
  main: 'the main part',
  nav: 'the navigation',
  ol: 'the list',
  p: 'the paragraph',
  section: 'the section',
  table: 'the table',
  td: 'the cell',
  th: 'the heading cell',
  tr: 'the row',
  ul: 'the list',
};

const MAX_WORDS = 60;

/** An element in words: `the paragraph “Fee 4 euros”`. */
function elementWords({ name, id, excerpt }: ShownElement): string {
  const what = NAMES[name] ?? `the element ${name}`;
  if (excerpt !== '')
    return `${what} “${excerpt.length > MAX_WORDS ? `${excerpt.slice(0, MAX_WORDS)}…` : excerpt}”`;
  return id === '' ? what : `${what} #${id}`;
}
