import { expect } from 'chai';
import { h } from 'preact';
import { render } from 'preact-render-to-string';
import type { Html } from '../../../adapters/http/web/prose.js';
import { Day, Time } from '../../../adapters/http/web/parts.js';
import { WithVisit } from '../../../adapters/http/web/visit.js';
import { visitIn } from '../../support/http/visit.js';

describe('a date on a page', () => {
  it('has its year unless that is the present one where the service is', () => {
    const visit = visitIn('America/New_York');
    const read = (date: Html): string =>
      render(h(WithVisit, { value: visit }, date)).replaceAll(/<[^>]*>/g, '');
    const times = ['2026-01-01T04:59:00.000Z', '2026-01-01T05:00:00.000Z', '2027-01-01T05:00:00.000Z'];
    expect(times.map((at) => read(h(Time, { at })))).to.deep.equal([
      'Dec 31, 2025, 23:59 EST',
      'Jan 1, 00:00 EST',
      'Jan 1, 2027, 00:00 EST',
    ]);
    const days = ['2025-12-31', '2026-01-01', '2027-01-01'];
    expect(days.map((day) => read(h(Day, { day })))).to.deep.equal(['Dec 31, 2025', 'Jan 1', 'Jan 1, 2027']);
  });
});
