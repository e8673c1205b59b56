import { ActionIcon, Button, Textarea } from '@mantine/core';
import { IconArrowDown, IconArrowUp, IconPencil, IconX } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'react-router';
import type { Case, CaseItem, NewCaseItem } from '../../../../shared/findings/case.ts';
import { TimeText } from '../../components/data/TimeText.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { useIsOwner } from '../../state/session.ts';
import classes from './Cases.module.css';
import { useChangeCase } from './useChangeCase.ts';

/** The items of a case in their order. The owner moves, removes and annotates them. */
export function CaseItems({ shown }: { shown: Case }) {
  const isOwner = useIsOwner();
  const change = useChangeCase(shown);
  const { items } = shown;
  const save = (changed: readonly CaseItem[], onSuccess?: () => void) =>
    change.mutate(
      { items: changed.map(({ kind, id, note }) => ({ kind, id, note }) as NewCaseItem) },
      { onSuccess },
    );
  const move = (from: number, by: 1 | -1) => {
    const moved = [...items];
    const [item] = moved.splice(from, 1);
    if (item) moved.splice(from + by, 0, item);
    save(moved);
  };
  return (
    <>
      {change.error && <ErrorNote error={change.error} />}
      <ol className={classes.items} aria-label="Items">
        {items.map((item, index) => (
          <Item
            key={`${item.kind} ${item.id}`}
            item={item}
            number={index + 1}
            {...(isOwner && {
              edit: {
                isPending: change.isPending,
                onUp: index > 0 ? () => move(index, -1) : undefined,
                onDown: index < items.length - 1 ? () => move(index, 1) : undefined,
                onRemove: () => save(items.filter((each) => each !== item)),
                onNote: (note, onSaved) =>
                  save(
                    items.map((each) => (each === item ? { ...item, note } : each)),
                    onSaved,
                  ),
              },
            })}
          />
        ))}
      </ol>
    </>
  );
}

interface ItemEdit {
  isPending: boolean;
  onUp: (() => void) | undefined;
  onDown: (() => void) | undefined;
  onRemove: () => void;
  /** Saves a note. `onSaved` is called only if that succeeds, so that nothing typed is lost. */
  onNote: (note: string, onSaved: () => void) => void;
}

function Item({ item, number, edit }: { item: CaseItem; number: number; edit?: ItemEdit }) {
  const [note, setNote] = useState<string>();
  return (
    <li className={classes.item}>
      <span className={classes.number} aria-hidden>
        {number}
      </span>
      <div>
        <p className={classes.name}>
          <Link to={addressOf(item)}>{item.name}</Link>
        </p>
        <p className="muted small">
          {item.kind === 'event' ? `Event ${item.id}` : KIND_LABELS[item.kind]}, <TimeText at={item.at} />
        </p>
      </div>
      {edit ? <ItemTools item={item} edit={edit} onEditNote={() => setNote(item.note)} /> : <span />}
      {note === undefined && item.note && <p className={classes.note}>{item.note}</p>}
      {note !== undefined && edit && (
        <form
          className={classes.note}
          onSubmit={(submit) => {
            submit.preventDefault();
            edit.onNote(note, () => setNote(undefined));
          }}
        >
          <Textarea
            label="Note"
            autosize
            minRows={2}
            maxRows={10}
            maxLength={2_000}
            value={note}
            data-autofocus
            ref={focusOnce}
            onChange={(typed) => setNote(typed.currentTarget.value)}
          />
          <Button type="submit" size="xs" mt="xs" mr="xs" loading={edit.isPending}>
            Save note
          </Button>
          <Button variant="default" size="xs" mt="xs" onClick={() => setNote(undefined)}>
            Cancel
          </Button>
        </form>
      )}
    </li>
  );
}

function focusOnce(element: HTMLTextAreaElement | null): void {
  element?.focus();
}

function ItemTools({ item, edit, onEditNote }: { item: CaseItem; edit: ItemEdit; onEditNote: () => void }) {
  const name = item.name.slice(0, 60);
  const tools = [
    { label: `Edit the note on ${name}`, icon: IconPencil, onClick: onEditNote },
    { label: `Move ${name} up`, icon: IconArrowUp, onClick: edit.onUp },
    { label: `Move ${name} down`, icon: IconArrowDown, onClick: edit.onDown },
    { label: `Remove ${name} from the case`, icon: IconX, onClick: edit.onRemove },
  ];
  return (
    <div className={classes.tools}>
      {tools.map(({ label, icon: Icon, onClick }) => (
        <ActionIcon
          key={label}
          variant="subtle"
          color="gray"
          aria-label={label}
          title={label}
          // Not disabled: a button that becomes disabled would lose the focus.
          aria-disabled={!onClick}
          data-disabled={!onClick || undefined}
          onClick={edit.isPending ? undefined : onClick}
        >
          <Icon size={16} aria-hidden />
        </ActionIcon>
      ))}
    </div>
  );
}

const KIND_LABELS = { pack: 'Pack', finding: 'Finding' };

function addressOf({ kind, id }: CaseItem): string {
  return { event: '/timeline/', pack: '/packs/', finding: '/findings?state=all&q=' }[kind] + id;
}
