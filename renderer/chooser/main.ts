import { CHOOSER_MOVES, MAX_SHOWN_NAME, MAX_SHOWN_TEXT } from '../../shared/collection/chooserLimits.ts';
import type { ChooserMessage, ChooserMove, ChooserRequest } from '../../shared/collection/noise.ts';
import { describe } from './names.ts';
import { chosenFor, lineOf, nameOf, page } from './page.ts';

/*
 * Runs in an archived page, as the only script: a person points at an element, sees it framed, and chooses it. By keyboard:
 * up to what is around it, down to what is in it, left and right to what is beside it, Enter.
 */

const window_ = window;
const { parent } = window_;

/** The frame around the element. It is above everything, and no style of the page reaches it. */
const mark = page.create('div');
const MARK_STYLE: Readonly<Record<string, string>> = {
  all: 'initial',
  display: 'block',
  position: 'fixed',
  inset: 'auto',
  margin: '0',
  padding: '0',
  'box-sizing': 'border-box',
  border: '2px solid #b4540a',
  outline: '2px solid #fff',
  background: 'rgb(180 84 10 / 18%)',
  'pointer-events': 'none',
  transition: 'none',
  animation: 'none',
};

let shown: Element | undefined;
/** Where the pointer was last. */
let point = { x: 0, y: 0 };
let isFrameWaited = false;

function send(message: ChooserMessage): void {
  // The policy of this page lets only the node's own window embed it, which can read all of the message anyway.
  parent.postMessage(message, '*');
}

function style(element: HTMLElement | SVGElement, styles: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(styles)) element.style.setProperty(name, value, 'important');
}

function place(): void {
  if (!shown) return;
  const { left, top, width, height } = shown.getBoundingClientRect();
  style(mark, {
    left: `${left}px`,
    top: `${top}px`,
    width: `${Math.max(4, width)}px`,
    height: `${Math.max(4, height)}px`,
  });
}

function said(element: Element) {
  return {
    name: nameOf(element).slice(0, MAX_SHOWN_NAME),
    id: (element.getAttribute('id') ?? '').slice(0, MAX_SHOWN_NAME),
    excerpt: lineOf(element, MAX_SHOWN_TEXT, ' '),
  };
}

function show(element: Element, byKey: boolean): void {
  if (element === shown) return;
  shown = element;
  if (!mark.isConnected) page.root.append(mark);
  if (!mark.matches(':popover-open')) mark.showPopover();
  if (byKey) element.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
  place();
  send({ chooser: 'shown', ...said(element), byKey });
}

function choose(): void {
  if (shown) send({ chooser: 'chosen', ...said(shown), element: describe(shown) });
}

function elementAt(): Element | undefined {
  const found = page.findAt(point.x, point.y);
  return found ? chosenFor(found) : undefined;
}

const MOVES: Readonly<Record<ChooserMove, (from: Element) => Element | null | undefined>> = {
  around: ({ parentElement }) => (parentElement === page.root ? null : parentElement),
  inside: (from) =>
    from instanceof HTMLElement ? nextShown(from.firstElementChild, 'nextElementSibling') : null,
  before: (from) => nextShown(from.previousElementSibling, 'previousElementSibling'),
  after: (from) => nextShown(from.nextElementSibling, 'nextElementSibling'),
  // What covers others is passed through from now on.
  beneath: (from) => {
    const { left, top, width, height } = from.getBoundingClientRect();
    const isPointed = point.x >= left && point.x <= left + width && point.y >= top && point.y <= top + height;
    if (!isPointed) point = { x: left + width / 2, y: top + height / 2 };
    if (from instanceof HTMLElement || from instanceof SVGElement) style(from, { 'pointer-events': 'none' });
    return elementAt();
  },
};

/** How many elements without a place on the screen are passed over. */
const MAX_PASSED = 500;

function nextShown(
  first: Element | null,
  next: 'nextElementSibling' | 'previousElementSibling',
): Element | null {
  let at = first;
  for (let passed = 0; at && passed < MAX_PASSED; passed += 1, at = at[next])
    if (at !== mark && !isUnseen(at)) return at;
  return null;
}

function isUnseen(element: Element): boolean {
  const { width, height } = element.getBoundingClientRect();
  return element.localName === 'style' || (width === 0 && height === 0 && element.childElementCount === 0);
}

/** The first element of the page, or what it consists of if it is the only one. */
function firstElement(): Element {
  const body = [...page.root.children].find(({ localName }) => localName === 'body' || localName === 'div');
  return (body && nextShown(body.firstElementChild, 'nextElementSibling')) ?? body ?? page.root;
}

function move(to: ChooserMove): void {
  const next = shown ? MOVES[to](shown) : firstElement();
  if (next) show(next, true);
}

const KEYS: Readonly<Record<string, ChooserMove>> = {
  ArrowUp: 'around',
  ArrowDown: 'inside',
  ArrowLeft: 'before',
  ArrowRight: 'after',
};

function onKey(event: KeyboardEvent): void {
  const { key, shiftKey, ctrlKey, metaKey, altKey } = event;
  if (ctrlKey || metaKey || altKey) return;
  const to = KEYS[key];
  if (to) move(to);
  else if (key === 'b') move('beneath');
  else if (key === 'Enter' || key === ' ') choose();
  else if (key === 'Tab') send({ chooser: 'left', to: shiftKey ? 'before' : 'after' });
  else if (key === 'Escape') send({ chooser: 'left', to: 'out' });
  else return;
  // Keys do nothing else in the page: its links are not stations of the Tab key.
  event.preventDefault();
  event.stopImmediatePropagation();
}

function onPointer(event: PointerEvent): void {
  point = { x: event.clientX, y: event.clientY };
  if (isFrameWaited) return;
  isFrameWaited = true;
  requestAnimationFrame(() => {
    isFrameWaited = false;
    const found = elementAt();
    if (found) show(found, false);
  });
}

function onClick(event: MouseEvent): void {
  point = { x: event.clientX, y: event.clientY };
  // A click by keyboard has no place.
  const found = event.detail === 0 ? shown : elementAt();
  if (found) show(found, false);
  choose();
}

function onMessage({ source, data }: MessageEvent<Partial<ChooserRequest> | null>): void {
  if (source !== parent) return;
  const asked = data?.chooser;
  if (asked === 'choose') choose();
  else if (asked === 'focus') window_.focus();
  else if (CHOOSER_MOVES.some((known) => known === asked)) move(asked as ChooserMove);
}

/** Nothing in the page is activated, opened, dragged or selected. */
const STOPPED = [
  'mousedown',
  'mouseup',
  'pointerdown',
  'auxclick',
  'dblclick',
  'dragstart',
  'submit',
  'toggle',
] as const;

function start(): void {
  style(mark, MARK_STYLE);
  mark.popover = 'manual';
  for (const type of STOPPED) window_.addEventListener(type, stop, { capture: true });
  window_.addEventListener('click', (event) => (stop(event), onClick(event)), { capture: true });
  window_.addEventListener('pointermove', onPointer, { capture: true, passive: true });
  window_.addEventListener('keydown', onKey, { capture: true });
  window_.addEventListener('scroll', place, { capture: true, passive: true });
  window_.addEventListener('resize', place);
  window_.addEventListener('message', onMessage);
  window_.addEventListener('DOMContentLoaded', () => send({ chooser: 'ready' }));
}

function stop(event: Event): void {
  event.preventDefault();
  event.stopImmediatePropagation();
  // The keys of the page are those of the chooser, wherever it was clicked.
  if (event.type === 'mousedown') window_.focus();
}

start();
