import { useMantineColorScheme } from '@mantine/core';
import { IconDeviceDesktop, IconMoon, IconSun, type TablerIcon } from '@tabler/icons-react';
import { useId } from 'react';
import classes from './layout.module.css';

const THEMES: { value: 'light' | 'dark' | 'auto'; label: string; icon: TablerIcon }[] = [
  { value: 'light', label: 'Light', icon: IconSun },
  { value: 'dark', label: 'Dark', icon: IconMoon },
  { value: 'auto', label: 'System', icon: IconDeviceDesktop },
];

/**
 * Selects the light, dark or system theme. Mantine's segmented control would look the same, but measures itself while
 * the first page is drawn.
 */
export function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const name = useId();
  return (
    <div role="radiogroup" aria-label="Theme" className={`${classes.themes} line stretch sunk`}>
      {THEMES.map(({ value, label, icon: Icon }) => (
        <label key={value} title={label} className={`${classes.theme} relative fill`}>
          <input
            type="radio"
            name={name}
            value={value}
            className="visually-hidden"
            checked={colorScheme === value}
            onChange={() => setColorScheme(value)}
          />
          <span className={classes.face}>
            <Icon size={16} aria-hidden />
            <span className="visually-hidden">{label}</span>
          </span>
        </label>
      ))}
    </div>
  );
}
