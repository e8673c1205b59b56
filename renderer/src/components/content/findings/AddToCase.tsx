import { ActionIcon, Button, Popover } from '@mantine/core';
import { useDisclosure, useLocalStorage } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconBriefcase, IconChevronDown, IconPlus } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { CaseSummary, NewCaseItem } from '../../../../../shared/findings/case.ts';
import { call } from '../../../api/client.ts';
import { callKey, useCall } from '../../../api/useCall.ts';
import { describeError } from '../../feedback/ErrorNote.tsx';
import classes from './Findings.module.css';
import { NewCaseDialog } from './NewCaseDialog.tsx';

export interface AddToCaseProps {
  item: Omit<NewCaseItem, 'note'>;
  size?: 'compact-xs' | 'xs' | 'sm';
}

const MAX_OFFERED = 100;
/** The height of a button of each size, in pixels. */
const ARROW_SIZES = { 'compact-xs': 22, xs: 30, sm: 36 } as const;
const LONGEST_TITLE = 28;

/** Adds an item to the case that was used last, with one click, or to another one. */
export function AddToCase({ item, size = 'xs' }: AddToCaseProps) {
  const [isOpen, menu] = useDisclosure(false);
  const [isCreating, creating] = useDisclosure(false);
  const { data } = useCall('listCases', { query: { limit: MAX_OFFERED } });
  const [last, setLast] = useLocalStorage({ key: 'strongroom-last-case', defaultValue: '' });
  const cases = data?.items ?? [];
  const preferred = cases.find(({ id }) => id === last) ?? cases[0];
  const add = useAddToCase(item, setLast);
  const icon = <IconBriefcase size={14} aria-hidden />;
  const variant = size === 'compact-xs' ? 'subtle' : 'default';
  return (
    <>
      <Button.Group>
        <Button
          variant={variant}
          size={size}
          leftSection={icon}
          loading={add.isPending}
          title={preferred ? `Add to the case “${preferred.title}”` : undefined}
          onClick={() => (preferred ? add.mutate(preferred) : creating.open())}
        >
          {preferred ? `Add to ${shortened(preferred.title)}` : 'Add to a case'}
        </Button>
        {preferred && (
          <Popover
            opened={isOpen}
            onChange={menu.toggle}
            position="bottom-end"
            trapFocus
            returnFocus
            shadow="md"
          >
            <Popover.Target>
              <ActionIcon
                variant={variant}
                size={ARROW_SIZES[size]}
                aria-label="Add to another case"
                onClick={menu.toggle}
              >
                <IconChevronDown size={14} aria-hidden />
              </ActionIcon>
            </Popover.Target>
            <Popover.Dropdown aria-label="Cases" p={4}>
              <ul className={classes.cases}>
                {cases.map((each) => (
                  <li key={each.id}>
                    <Button
                      variant="subtle"
                      size="xs"
                      fullWidth
                      justify="start"
                      onClick={() => {
                        menu.close();
                        add.mutate(each);
                      }}
                    >
                      {shortened(each.title)}
                    </Button>
                  </li>
                ))}
              </ul>
              <Button
                variant="subtle"
                size="xs"
                fullWidth
                justify="start"
                leftSection={<IconPlus size={14} aria-hidden />}
                onClick={() => {
                  menu.close();
                  creating.open();
                }}
              >
                New case
              </Button>
            </Popover.Dropdown>
          </Popover>
        )}
      </Button.Group>
      <NewCaseDialog opened={isCreating} onClose={creating.close} item={item} onCreated={setLast} />
    </>
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

function shortened(title: string): string {
  return title.length > LONGEST_TITLE ? `${title.slice(0, LONGEST_TITLE - 1).trimEnd()}…` : title;
}
