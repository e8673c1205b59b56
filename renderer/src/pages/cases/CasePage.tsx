import { ActionIcon, Button, Textarea, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconArrowDown, IconArrowUp, IconDownload, IconPencil, IconTrash, IconX } from '@tabler/icons-react';
import { useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import type { Case, CaseItem, NewCaseItem } from '../../../../shared/findings/case.ts';
import { urlOf } from '../../api/client.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { TimeText } from '../../components/data/Values.tsx';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { exportFile } from '../../components/forms/buttons.tsx';
import { DialogForm, FormDialog, Question, useItemForm } from '../../components/forms/DialogForm.tsx';
import { ItemPage, Page } from '../../components/layout/Page.tsx';
import { useIsOwner } from '../../state/session.ts';
import classes from './Cases.module.css';

/** The page of one case. */
export default function CasePage() {
  const { id = '' } = useParams();
  const query = useCall('readCase', { params: { id } });
  return (
    <ItemPage
      query={query}
      name="Case"
      list={{ to: '/cases', label: 'All cases' }}
      missing="It may have been deleted."
    >
      {(found) => <WholeCase key={found.id} shown={found} />}
    </ItemPage>
  );
}

function WholeCase({ shown }: { shown: Case }) {
  const { id, title, description, changed_at, items } = shown;
  return (
    <Page
      title={title}
      lead={
        <>
          Case, changed <TimeText at={changed_at} />
        </>
      }
      actions={<CaseActions shown={shown} />}
    >
      {description && <p className="mb-4 measure keep-lines wrap-anywhere">{description}</p>}
      {items.length === 0 ? (
        <EmptyState title="No items yet">
          Open an event or a pack, or go to a finding, and choose “Add to {title}”.
        </EmptyState>
      ) : (
        <CaseItems key={id} shown={shown} />
      )}
    </Page>
  );
}

function CaseActions({ shown }: { shown: Case }) {
  const isOwner = useIsOwner();
  const navigate = useNavigate();
  const [isEditing, editing] = useDisclosure(false);
  const [isDeleting, deleting] = useDisclosure(false);
  const { id, title } = shown;
  const removal = useSave('deleteCase', () => ({ params: { id } }), { onSaved: () => navigate('/cases') });
  return (
    <>
      <Button
        component="a"
        href={urlOf('readCaseBag', { params: { id } })}
        download
        onClick={(click) => void exportFile(click)}
        variant="default"
        leftSection={<IconDownload size={17} aria-hidden />}
      >
        Download bag
      </Button>
      {isOwner && (
        <>
          <Button variant="default" leftSection={<IconPencil size={17} aria-hidden />} onClick={editing.open}>
            Edit
          </Button>
          <Button variant="default" leftSection={<IconTrash size={17} aria-hidden />} onClick={deleting.open}>
            Delete
          </Button>
        </>
      )}
      <FormDialog opened={isEditing} onClose={editing.close} title="Edit case" size="md">
        <EditCaseForm shown={shown} />
      </FormDialog>
      {isDeleting && (
        <Question title="Delete case?" answer="Delete" save={removal} onClose={deleting.close}>
          “{title}” and its notes will be deleted. Its events, packs and findings stay.
        </Question>
      )}
    </>
  );
}

/** Changes the title and the description of a case. */
function EditCaseForm({ shown }: { shown: Case }) {
  const { id, revision } = shown;
  const { form, save } = useItemForm({
    route: 'changeCase',
    initialValues: { title: shown.title, description: shown.description },
    validate: ({ title }) => ({ title: title === '' ? 'Enter a title.' : null }),
    request: (values) => ({ params: { id }, body: { revision, ...values } }),
  });
  return (
    <DialogForm form={form} save={save} submit="Save">
      <TextInput label="Title" data-autofocus {...form.getInputProps('title')} />
      <Textarea label="Description" minRows={3} maxRows={12} {...form.getInputProps('description')} />
    </DialogForm>
  );
}

/** The items of a case in their order. The owner moves, removes and annotates them. */
function CaseItems({ shown }: { shown: Case }) {
  const isOwner = useIsOwner();
  const { id: caseId, revision, items } = shown;
  // If another page changed the case, it is refused and read again.
  const change = useSave('changeCase', (changed: readonly CaseItem[]) => ({
    params: { id: caseId },
    body: { revision, items: changed.map(({ kind, id, note }) => ({ kind, id, note }) as NewCaseItem) },
  }));
  const save = (changed: readonly CaseItem[], onSuccess?: () => void) =>
    change.mutate(changed, { onSuccess });
  const move = (from: number, by: 1 | -1) => {
    const moved = [...items];
    const [item] = moved.splice(from, 1);
    if (item) moved.splice(from + by, 0, item);
    save(moved);
  };
  return (
    <>
      {change.error && <ErrorNote error={change.error} />}
      <ol className={`${classes.items} plain stack gap-3`} aria-label="Items">
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
    <li className={`${classes.item} grid gap-3 card`}>
      <span className={`${classes.number} muted text-end`} aria-hidden>
        {number}
      </span>
      <div>
        <p className={`${classes.name} clamp`}>
          <Link to={addressOf(item)}>{item.name}</Link>
        </p>
        <p className="muted small">
          {item.kind === 'event' ? `Event ${item.id}` : KIND_LABELS[item.kind]}, <TimeText at={item.at} />
        </p>
      </div>
      {edit ? <ItemTools item={item} edit={edit} onEditNote={() => setNote(item.note)} /> : <span />}
      {note === undefined && item.note && (
        <p className={`${classes.note} keep-lines wrap-anywhere`}>{item.note}</p>
      )}
      {note !== undefined && edit && (
        <form
          className={`${classes.note} keep-lines wrap-anywhere`}
          onSubmit={(submit) => {
            submit.preventDefault();
            edit.onNote(note, () => setNote(undefined));
          }}
        >
          <Textarea
            label="Note"
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
    <div className="line gap-1 stretch">
      {tools.map(({ label, icon: Icon, onClick }) => (
        <ActionIcon
          key={label}
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
