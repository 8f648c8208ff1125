import { expect } from 'chai';
import { h } from 'preact';
import { render } from 'preact-render-to-string';
import { Field, Form } from '../../../adapters/http/web/form.js';
import type { Url } from '../../../adapters/http/web/paths.js';
import { WithVisit } from '../../../adapters/http/web/visit.js';
import { visitIn } from '../../support/http/visit.js';

describe('a form of the console', () => {
  /** Its field after an action of the page was refused. */
  const fieldAfter = (refusedAction: string, action: string | readonly string[]): string | undefined => {
    const refused = {
      action: refusedAction,
      message: 'Not now.',
      field: null,
      meaning: '/docs/errors/rate_limited' as Url,
      sent: (name: string) => (name === 'label' ? 'typed' : ''),
    };
    const field = h(Field, { name: 'label', label: 'Label', value: 'known' });
    const form = h(WithVisit, { value: { ...visitIn('UTC'), refused } }, h(Form, { action }, field));
    return /value="(known|typed)"/.exec(render(form))?.[1];
  };

  it('keeps what was typed into it if it is refused, whichever of its buttons was pressed', () => {
    expect(fieldAfter('save', 'save')).to.equal('typed');
    for (const button of ['preview', 'save'])
      expect(fieldAfter(button, ['preview', 'save']), button).to.equal('typed');
  });

  it('stays as it is if another form of its page is refused', () => {
    for (const action of ['save', ['preview', 'save']]) expect(fieldAfter('pause', action)).to.equal('known');
  });
});
