import { expect } from 'chai';
import { DomainError } from '../../domain/errors.js';
import {
  activeHook,
  changeHookSettings,
  createHook,
  deleteHook,
  hook,
  hookIdOf,
  pauseHook,
  tokenFrom,
  type Hook,
  type HookEvent,
} from '../../domain/hook.js';
import type { OrganizationId } from '../../domain/ids.js';

const org = 'org-1' as OrganizationId;
const other = 'org-2' as OrganizationId;
const settings = { label: 'Shop', design: null, template: 'Dear {{first_name}}', signedBy: 'Ann' };
const created: HookEvent = { type: 'HookCreated', data: { org, ...settings } };
const paused: HookEvent = { type: 'HookPaused', data: {} };
const resumed: HookEvent = { type: 'HookResumed', data: {} };
const deleted: HookEvent = { type: 'HookDeleted', data: {} };

const after = (...events: readonly HookEvent[]): Hook => events.reduce(hook.evolve, hook.initial);

const codeOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    if (error instanceof DomainError) return error.code;
    throw error;
  }
  return 'none';
};

describe('a hook', () => {
  it('is created with its settings', () => {
    expect(createHook(org, settings)(after())).to.deep.equal([created]);
    expect(after(created)).to.deep.equal({ status: 'active', org, ...settings });
    expect(() => createHook(org, settings)(after(created))).to.throw('already exists');
  });

  it('changes the settings that are named, and a repeat records nothing', () => {
    const changed: HookEvent = {
      type: 'HookChanged',
      data: { ...settings, label: 'Store', signedBy: 'Bob' },
    };
    const change = { label: 'Store', signedBy: 'Bob' };
    expect(changeHookSettings(org, change)(after(created))).to.deep.equal([changed]);
    expect(changeHookSettings(org, change)(after(created, changed))).to.deep.equal([]);
    expect(after(created, paused, changed)).to.deep.equal({ status: 'paused', org, ...settings, ...change });
    expect(after(changed)).to.deep.equal({ status: 'none' });
    for (const [by, state] of [
      [other, after(created)],
      [org, after()],
      [org, after(created, deleted)],
    ] as const)
      expect(codeOf(() => changeHookSettings(by, change)(state))).to.equal('not_found');
  });

  it('is paused and resumed, and a repeat records nothing', () => {
    expect(pauseHook(org, true)(after(created))).to.deep.equal([paused]);
    expect(pauseHook(org, true)(after(created, paused))).to.deep.equal([]);
    expect(pauseHook(org, false)(after(created, paused))).to.deep.equal([resumed]);
    expect(pauseHook(org, false)(after(created))).to.deep.equal([]);
    expect(after(created, paused, resumed)).to.deep.equal(after(created));
  });

  it('is deleted forever, and a repeat records nothing', () => {
    expect(deleteHook(org)(after(created, paused))).to.deep.equal([deleted]);
    expect(deleteHook(org)(after(created, deleted))).to.deep.equal([]);
    expect(codeOf(() => pauseHook(org, false)(after(created, deleted)))).to.equal('not_found');
    expect(codeOf(() => pauseHook(org, true)(after(created, deleted)))).to.equal('not_found');
  });

  it('is not found if it is another organization’s or does not exist', () => {
    for (const decide of [pauseHook, deleteHook]) {
      expect(codeOf(() => decide(other, true)(after(created)))).to.equal('not_found');
      expect(codeOf(() => decide(org, true)(after()))).to.equal('not_found');
    }
  });

  it('sends only while it is active', () => {
    expect(activeHook(after(created))).to.deep.equal({ status: 'active', org, ...settings });
    expect(codeOf(() => activeHook(after()))).to.equal('invalid_hook');
    expect(codeOf(() => activeHook(after(created, paused)))).to.equal('hook_disabled');
    expect(codeOf(() => activeHook(after(created, paused, deleted)))).to.equal('invalid_hook');
  });

  it('is found by its token, 43 characters that encode 256 bits', () => {
    const token = tokenFrom(Buffer.alloc(32, 7));
    expect(token).to.match(/^[A-Za-z0-9_-]{43}$/);
    expect(hookIdOf(token)).to.equal(hookIdOf(token));
    expect(hookIdOf(token)).to.not.equal(hookIdOf(`${token} `));
    expect(hookIdOf(token)).to.match(/^[0-9a-f-]{36}$/);
    expect(hookIdOf(token)).to.not.contain(token);
  });
});
