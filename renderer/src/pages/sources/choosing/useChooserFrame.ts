import { type RefObject, useEffect, useEffectEvent, useState } from 'react';
import {
  type ChooserMessage,
  type ChooserRequest,
  type ChosenElement,
  chooserMessageSchema,
} from '../../../../../shared/collection/noise.ts';

/** An element of the archived page, as its frame describes it. */
export interface ShownElement {
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
export function useChooserFrame(
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
export function elementWords({ name, id, excerpt }: ShownElement): string {
  const what = NAMES[name] ?? `the element ${name}`;
  if (excerpt !== '')
    return `${what} “${excerpt.length > MAX_WORDS ? `${excerpt.slice(0, MAX_WORDS)}…` : excerpt}”`;
  return id === '' ? what : `${what} #${id}`;
}
