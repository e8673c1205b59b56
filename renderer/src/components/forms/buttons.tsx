import { ActionIcon, Button, type ButtonProps, Collapse, Tooltip, UnstyledButton } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconCheck, IconChevronRight, IconCopy, type TablerIcon } from '@tabler/icons-react';
import { type ComponentProps, type MouseEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { Link } from 'react-router';
import { sendRequest } from '../../api/client.ts';
import { describeError } from '../feedback/ErrorNote.tsx';

/** Copies text to the clipboard. `what` describes it in the tooltip and to screen readers. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const { copied, copy } = useCopied();
  const label = copied ? 'Copied' : `Copy ${what}`;
  return (
    <Tooltip label={label}>
      <ActionIcon size="sm" aria-label={label} onClick={() => copy(text)}>
        {copied ? <IconCheck size={15} /> : <IconCopy size={15} />}
      </ActionIcon>
    </Tooltip>
  );
}

const SHOWN_MS = 1600;

/** Copies text to the clipboard and reports success for a moment. */
export function useCopied(): { copied: boolean; copy: (text: string) => void } {
  const [copied, setCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async (text: string) => {
    setCopied(await writeClipboard(text));
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setCopied(false), SHOWN_MS);
  };
  return { copied, copy: (text) => void copy(text) };
}

/** Browsers offer no clipboard API over plain HTTP; the deprecated `execCommand` still works there. */
async function writeClipboard(text: string): Promise<boolean> {
  if (navigator.clipboard && window.isSecureContext) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  }
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  area.style.opacity = '0';
  document.body.append(area);
  const focused = document.activeElement;
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return done;
}

interface IconButtonProps extends ButtonProps, Omit<ComponentProps<'button'>, keyof ButtonProps> {
  icon: TablerIcon;
}

/** A button with an icon, beside the main button of its page or part. */
export function IconButton({ icon: Icon, ...props }: IconButtonProps) {
  return <Button variant="default" leftSection={<Icon size={16} aria-hidden />} {...props} />;
}

interface IconLinkProps {
  icon: TablerIcon;
  to: string;
  children: ReactNode;
}

/** The same, as a link to another page. */
export function IconLink({ icon: Icon, ...props }: IconLinkProps) {
  return (
    <Button component={Link} variant="default" leftSection={<Icon size={16} aria-hidden />} {...props} />
  );
}

interface ItemButtonProps extends Pick<ButtonProps, 'disabled' | 'loading'> {
  label: string;
  /** The name of the item. */
  of: string;
  onClick: () => void;
}

/** A button of an item in a list. For screen readers, its name says which item. */
export function ItemButton({ label, of, ...props }: ItemButtonProps) {
  return (
    <Button variant="default" size="compact-sm" aria-label={`${label}: ${of}`} {...props}>
      {label}
    </Button>
  );
}

/** The button of an item in a list that asks whether to remove it. */
export function RemoveItemButton({ of, onClick }: Pick<ItemButtonProps, 'of' | 'onClick'>) {
  return (
    <Button variant="subtle" color="red" size="compact-sm" aria-label={`Remove: ${of}`} onClick={onClick}>
      Remove
    </Button>
  );
}

interface DisclosureProps {
  title: string;
  /** Whether its fields have values when it is first shown: then it is open. */
  isUsed: boolean;
  isWrong: boolean;
  children: ReactNode;
}

/** Fields of a form that open and close. */
export function Disclosure({ title, isUsed, isWrong, children }: DisclosureProps) {
  const [opened, setOpened] = useState(isUsed);
  const isOpen = opened || isWrong;
  return (
    <>
      <UnstyledButton
        className="line inline gap-2 self-start compact accent"
        aria-expanded={isOpen}
        onClick={() => setOpened(!isOpen)}
      >
        <IconChevronRight size={16} aria-hidden data-open={isOpen || undefined} />
        {title}
      </UnstyledButton>
      <Collapse expanded={isOpen}>{children}</Collapse>
    </>
  );
}

/**
 * For `clearButtonProps`. Mantine hides its clear button from the keyboard and from screen readers. `label`
 * names the result of pressing it: `Any status`.
 */
export function clearButtonProps(label: string) {
  return { 'aria-label': label, 'aria-hidden': false, tabIndex: 0 } as const;
}

/** Asks first whether the node can make the file now: a refused download would fail without a word. */
export async function exportFile(click: MouseEvent<HTMLAnchorElement>): Promise<void> {
  // With its ticket, which a link has while it is clicked.
  const { href } = click.currentTarget;
  click.preventDefault();
  try {
    const { status } = await sendRequest(href, { method: 'HEAD' });
    // The response is a file, so the page stays. The browser shows any other refusal.
    if (status !== 503) window.location.assign(href);
    else notifications.show({ color: 'red', message: BUSY });
  } catch (error) {
    notifications.show({ color: 'red', message: describeError(error).sentence });
  }
}

const BUSY = 'The node is busy with other exports. Try again in a minute.';

/** Saves a file that was created in the page. */
export function saveFile(name: string, text: string, mediaType: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: mediaType }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser reads the URL after this task has ended.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
