import { Select } from '@mantine/core';
import type { TreeNode } from '../../../../../shared/archive/treeNode.ts';
import { useCall } from '../../../api/useCall.ts';
import { clearButtonProps } from '../clearButtonProps.ts';
import type { PickerProps } from './SearchSelect.tsx';

/** Selects a subject from the tree. */
export function SubjectPicker({ value, onChange, ...rest }: PickerProps) {
  const tree = useCall('readTree');
  const nodes = flatten(tree.data?.nodes ?? []);
  const known = nodes.some((node) => node.path === value);
  const options = nodes.map(({ path, title }) => ({ value: path, label: `${path} (${title})` }));
  return (
    <Select
      {...rest}
      data={value && !known ? [{ value, label: value }, ...options] : options}
      value={value}
      onChange={onChange}
      searchable
      clearable
      clearButtonProps={clearButtonProps(`Clear: ${rest['aria-label'] ?? rest.label}`)}
      limit={200}
      nothingFoundMessage="No subject matches."
    />
  );
}

function flatten(nodes: readonly TreeNode[]): TreeNode[] {
  return nodes.flatMap((node) => [node, ...flatten(node.children)]);
}
