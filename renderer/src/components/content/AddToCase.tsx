import { ActionIcon, Button, Popover, Textarea, TextInput } from '@mantine/core';
import { useDisclosure, useLocalStorage } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconBriefcase, IconChevronDown, IconPlus } from '@tabler/icons-react';
import { useNavigate } from 'react-router';
import type { CaseSummary, NewCaseItem } from '../../../../shared/findings/case.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { describeError } from '../feedback/ErrorNote.tsx';
import { DialogForm, FormDialog, useItemForm } from '../forms/DialogForm.tsx';
import classes from './content.module.css';

interface AddToCaseProps {
  item: Omit<NewCaseItem, 'note'>;
  /** A `compact-xs` button always asks for the case. The others add to the case that was used last with one click. */
  size?: 'compact-xs' | 'xs' | 'sm';
}

const MAX_OFFERED = 100;
/** The height of a button of each size, in pixels. */
const ARROW_SIZES = { xs: 30, sm: 36 } as const;
const ICON = <IconBriefcase size={14} aria-hidden />;

/** Adds an item to a case. */
export function AddToCase({ item, size = 'xs' }: AddToCaseProps) {
  const [isOpen, menu] = useDisclosure(false);
  const [isCreating, creating] = useDisclosure(false);
  const { data } = useCall('listCases', { query: { limit: MAX_OFFERED } });
  const [last, setLast] = useLocalStorage({ key: 'strongroom-last-case', defaultValue: '' });
  const cases = data?.items ?? [];
  const preferred = cases.find(({ id }) => id === last) ?? cases[0];
  const add = useAddToCase(item, setLast);
  const choose = (chosen: CaseSummary | undefined) => {
    menu.close();
    if (chosen) add.mutate(chosen);
    else creating.open();
  };
  const opener = preferred ? menu.toggle : creating.open;
  return (
    <Popover opened={isOpen} onChange={menu.toggle} position="bottom-end" trapFocus returnFocus shadow="md">
      {size === 'compact-xs' ? (
        <Popover.Target>
          <Button variant="subtle" size={size} loading={add.isPending} onClick={opener}>
            Add to a case
          </Button>
        </Popover.Target>
      ) : (
        <Button.Group>
          <Button
            variant="default"
            size={size}
            leftSection={ICON}
            loading={add.isPending}
            title={preferred ? `Add to the case “${preferred.title}”` : undefined}
            onClick={() => choose(preferred)}
          >
            {preferred ? `Add to ${shortened(preferred.title)}` : 'Add to a case'}
          </Button>
          {preferred && (
            <Popover.Target>
              <ActionIcon
                variant="default"
                size={ARROW_SIZES[size]}
                aria-label="Add to another case"
                onClick={opener}
              >
                <IconChevronDown size={14} aria-hidden />
              </ActionIcon>
            </Popover.Target>
          )}
        </Button.Group>
      )}
      <CaseMenu cases={cases} onChoose={choose} />
      <NewCaseDialog opened={isCreating} onClose={creating.close} item={item} onCreated={setLast} />
    </Popover>
  );
}

function useAddToCase(item: AddToCaseProps['item'], onAdded: (id: string) => void) {
  return useSave('addCaseItem', ({ id }: CaseSummary) => ({ params: { id }, body: item as NewCaseItem }), {
    onSaved: ({ id, title }) => {
      onAdded(id);
      notifications.show({ message: `Added to the case “${title}”.` });
    },
    onError: (error) => notifications.show({ color: 'red', message: describeError(error).sentence }),
  });
}

const LONGEST_TITLE = 28;

interface CaseMenuProps {
  cases: readonly CaseSummary[];
  /** Called with a case, or with undefined for a new one. */
  onChoose: (chosen: CaseSummary | undefined) => void;
}

/** The cases that an item can be added to, in a popover. */
function CaseMenu({ cases, onChoose }: CaseMenuProps) {
  const look = { variant: 'subtle', size: 'xs', fullWidth: true, justify: 'start' } as const;
  return (
    <Popover.Dropdown aria-label="Cases" p={4}>
      <ul className={`${classes.cases} stack scroll plain`}>
        {cases.map((each) => (
          <li key={each.id}>
            <Button {...look} onClick={() => onChoose(each)}>
              {shortened(each.title)}
            </Button>
          </li>
        ))}
      </ul>
      <Button {...look} leftSection={<IconPlus size={14} aria-hidden />} onClick={() => onChoose(undefined)}>
        New case
      </Button>
    </Popover.Dropdown>
  );
}

/** A title that fits into a button. */
function shortened(title: string): string {
  return title.length > LONGEST_TITLE ? `${title.slice(0, LONGEST_TITLE - 1).trimEnd()}…` : title;
}

interface NewCaseProps {
  /** The first item. Without one, the page of the new case is opened. */
  item?: Omit<NewCaseItem, 'note'>;
  onCreated?: (id: string) => void;
}

/** Creates a case. */
export function NewCaseDialog({
  opened,
  onClose,
  ...rest
}: NewCaseProps & { opened: boolean; onClose: () => void }) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="New case" size="md">
      <NewCaseForm {...rest} />
    </FormDialog>
  );
}

function NewCaseForm({ item, onCreated }: NewCaseProps) {
  const navigate = useNavigate();
  const { form, save } = useItemForm({
    route: 'createCase',
    initialValues: { title: '', description: '' },
    validate: ({ title }) => (title === '' ? { title: 'Enter a title.' } : {}),
    request: (values) => ({ body: { ...values, items: item ? [item as NewCaseItem] : [] } }),
    onSaved: ({ id }) => {
      onCreated?.(id);
      return item ? undefined : navigate(`/cases/${id}`);
    },
  });
  return (
    <DialogForm form={form} save={save} submit="Create case">
      <TextInput label="Title" data-autofocus {...form.getInputProps('title')} />
      <Textarea
        label="Description"
        description="Optional. Everyone who can read this archive can read the case."
        minRows={3}
        maxRows={12}
        {...form.getInputProps('description')}
      />
    </DialogForm>
  );
}
