import { ActionIcon, Button, Popover } from '@mantine/core';
import { useDisclosure, useLocalStorage } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconBriefcase, IconChevronDown } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { CaseSummary, NewCaseItem } from '../../../../../shared/findings/case.ts';
import { call } from '../../../api/client.ts';
import { callKey, useCall } from '../../../api/useCall.ts';
import { describeError } from '../../feedback/ErrorNote.tsx';
import { CaseMenu, shortened } from './CaseMenu.tsx';
import { NewCaseDialog } from './NewCaseDialog.tsx';

export interface AddToCaseProps {
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
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id }: CaseSummary) => call('addCaseItem', { params: { id }, body: item as NewCaseItem }),
    onError: (error) => notifications.show({ color: 'red', message: describeError(error).sentence }),
    onSuccess: async ({ id, title }) => {
      onAdded(id);
      notifications.show({ message: `Added to the case “${title}”.` });
      await Promise.all(
        (['listCases', 'readCase'] as const).map((name) =>
          queries.invalidateQueries({ queryKey: callKey(name) }),
        ),
      );
    },
  });
}
