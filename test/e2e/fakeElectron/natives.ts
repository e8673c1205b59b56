import { EventEmitter } from 'node:events';

/** Menus, tray and notifications are only stored, so that a test can inspect and click them. */

interface ItemTemplate {
  id?: string;
  label?: string;
  role?: string;
  type?: string;
  checked?: boolean;
  submenu?: ItemTemplate[];
  click?: (item: MenuItem) => void;
}

class MenuItem {
  readonly id: string | undefined;
  readonly label: string;
  readonly role: string | undefined;
  readonly submenu: Menu | undefined;
  checked: boolean;
  #template: ItemTemplate;

  constructor(template: ItemTemplate) {
    this.#template = template;
    this.id = template.id;
    this.label = template.label ?? template.role ?? '';
    this.role = template.role;
    this.checked = template.checked ?? false;
    this.submenu = template.submenu && Menu.buildFromTemplate(template.submenu);
  }

  click(): void {
    if (this.#template.type === 'checkbox') this.checked = !this.checked;
    this.#template.click?.(this);
  }
}

export class Menu {
  static #application: Menu | null = null;
  readonly items: MenuItem[];

  constructor(items: MenuItem[]) {
    this.items = items;
  }

  static buildFromTemplate = (template: ItemTemplate[]): Menu =>
    new Menu(template.map((item) => new MenuItem(item)));
  static setApplicationMenu = (menu: Menu | null): void => {
    Menu.#application = menu;
  };
  static getApplicationMenu = (): Menu | null => Menu.#application;

  getMenuItemById(id: string): MenuItem | null {
    for (const item of this.items) {
      const found = item.id === id ? item : item.submenu?.getMenuItemById(id);
      if (found) return found;
    }
    return null;
  }
}

export class Tray extends EventEmitter {
  /** Electron has no list of trays; the tests need one. */
  static readonly all: Tray[] = [];
  toolTip = '';
  menu: Menu | undefined;

  constructor(_image: unknown) {
    super();
    Tray.all.push(this);
  }

  setToolTip(text: string): void {
    this.toolTip = text;
  }
  setContextMenu(menu: Menu): void {
    this.menu = menu;
  }
  destroy(): void {
    Tray.all.splice(Tray.all.indexOf(this), 1);
  }
}

export class Notification extends EventEmitter {
  static readonly shown: Notification[] = [];
  static isSupported = (): boolean => true;
  readonly title: string;
  readonly body: string;

  constructor({ title, body }: { title: string; body: string }) {
    super();
    this.title = title;
    this.body = body;
  }

  show(): void {
    Notification.shown.push(this);
  }
}

const image = { resize: () => image };
export const nativeImage = { createFromDataURL: () => image };
