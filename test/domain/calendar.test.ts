import { expect } from 'chai';
import fc from 'fast-check';
import { execFileSync } from 'node:child_process';
import {
  addBusinessDays,
  addDays,
  ArrivalWindow,
  arrivalWindow,
  dueDay,
  isBusinessDay,
  isPostalHoliday,
  honored,
  readArriveOn,
  readBirthday,
  parseInstant,
  parseLocalDate,
  readWorkAnniversary,
  soonestArrival,
  today,
  weekday,
  wholeYearsSince,
} from '../../domain/calendar.js';
import { DomainError } from '../../domain/errors.js';
import type { Instant, LocalDate } from '../../domain/ids.js';

const day = (text: string): LocalDate => {
  const date = parseLocalDate(text);
  if (date === null) throw new Error(`${text} is not a date`);
  return date;
};
const instant = (text: string): Instant => new Date(text).toISOString() as Instant;
const anyDay = fc.integer({ min: 0, max: 3_650_000 }).map((days) => addDays(day('0001-01-01'), days));
const sendDay = fc.integer({ min: 0, max: 40_000 }).map((days) => addDays(day('2020-01-01'), days));
const days = fc.integer({ min: 0, max: 60 });
const usual = { productionDays: 2, mailDays: 5 };

const refusal = (act: () => unknown): { code: string; message: string } => {
  try {
    act();
  } catch (error) {
    if (error instanceof DomainError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error('nothing was refused');
};

describe('a time that someone names', () => {
  const times: Readonly<Record<string, string | null>> = {
    '2026-03-01': '2026-03-01T00:00:00.000Z',
    '2026-03-01T12:00': '2026-03-01T12:00:00.000Z',
    '2026-03-01t12:00:30.1239z': '2026-03-01T12:00:30.123Z',
    '2026-03-01T01:00:00+02:00': '2026-02-28T23:00:00.000Z',
    '2024-02-29T23:59-01:00': '2024-03-01T00:59:00.000Z',
    '9999-12-31T23:59:59Z': '9999-12-31T23:59:59.000Z',
    '9999-12-31T23:59:59-01:00': null,
    '0000-01-01T00:00:00+01:00': null,
    '2026-02-30': null,
    '2026-02-29T12:00Z': null,
    '2026-03-01T25:00': null,
    '2026-03-01 12:00': null,
    '+012026-03-01': null,
    '2026-03-01Z': null,
    tomorrow: null,
  };

  it('is in UTC unless it has an offset, and exists', () => {
    for (const [text, at] of Object.entries(times)) expect(parseInstant(text), text).to.equal(at);
  });

  it('is the same in every time zone of a process', () => {
    const module = new URL('../../domain/calendar.js', import.meta.url).href;
    const read = `import { parseInstant } from ${JSON.stringify(module)};
      console.log(JSON.stringify(${JSON.stringify(Object.keys(times))}.map(parseInstant)))`;
    const program = ['--input-type=module', '--eval', read];
    const printed = execFileSync(process.execPath, program, { env: { TZ: 'Asia/Tokyo' }, encoding: 'utf8' });
    expect(JSON.parse(printed)).to.deep.equal(Object.values(times));
  });
});

describe('a date', () => {
  it('may be YYYY-MM-DD for a day that exists', () => {
    for (const text of ['2026-03-01', '2024-02-29', '2000-02-29', '0001-01-01', '0099-12-31', '9999-12-31'])
      expect(parseLocalDate(text)).to.equal(text);
  });

  it('is not read from other forms or from days that do not exist', () => {
    const wrong = [
      '2026-02-30', '2026-02-29', '1900-02-29', '2026-04-31', '2026-13-01', '2026-00-10', '2026-01-00', '2026-01-32', '2026-1-1', '26-01-01', '20260101', '2026/01/01',
      '2026-01-01T00:00:00Z', '2026-01-01 ', ' 2026-01-01', '2026-01-01\n', '+2026-01-01', '-2026-01-01', '10000-01-01', '２０２６-01-01', '03-01-2026', 'tomorrow', '',
    ]; // prettier-ignore
    for (const text of wrong) expect(parseLocalDate(text), text).to.equal(null);
  });

  it('agrees with the calendar of JavaScript', () =>
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 9999 }),
        fc.integer({ min: 0, max: 13 }),
        fc.integer({ min: 0, max: 32 }),
        (year, month, date) => {
          const text = `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-${String(date).padStart(2, '0')}`;
          const parsed = new Date(`${text}T00:00:00.000Z`);
          const real = !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(text);
          expect(parseLocalDate(text)).to.equal(real ? text : null);
        },
      ),
      { numRuns: 2000 },
    ));

  it('can be moved by days across months, years and leap days', () => {
    expect(addDays(day('2026-02-28'), 1)).to.equal('2026-03-01');
    expect(addDays(day('2024-02-28'), 1)).to.equal('2024-02-29');
    expect(addDays(day('2026-01-01'), -1)).to.equal('2025-12-31');
    expect(addDays(day('9999-12-31'), -4)).to.equal('9999-12-27');
    expect(addDays(day('0099-12-31'), 1)).to.equal('0100-01-01');
  });

  it('is the same after it was moved forward and back', () =>
    fc.assert(
      fc.property(anyDay, fc.integer({ min: 0, max: 1000 }), (date, count) => {
        expect(addDays(addDays(date, count), -count)).to.equal(date);
        expect(addDays(date, count) > date).to.equal(count > 0);
      }),
    ));

  it('has the right weekday', () => {
    expect(weekday(day('2026-03-01'))).to.equal(0);
    expect(weekday(day('2026-03-07'))).to.equal(6);
    expect(weekday(day('0001-01-01'))).to.equal(1);
    expect(weekday(day('1969-12-31'))).to.equal(3);
    expect(weekday(day('9999-12-31'))).to.equal(5);
  });
});

describe('today', () => {
  it('is the date in the time zone', () => {
    expect(today(instant('2026-03-01T04:59:59.999Z'), 'America/New_York')).to.equal('2026-02-28');
    expect(today(instant('2026-03-01T05:00:00.000Z'), 'America/New_York')).to.equal('2026-03-01');
    expect(today(instant('2026-07-01T03:59:59.999Z'), 'America/New_York')).to.equal('2026-06-30');
    expect(today(instant('2026-07-01T04:00:00.000Z'), 'America/New_York')).to.equal('2026-07-01');
    expect(today(instant('2026-07-01T04:00:00.000Z'), 'UTC')).to.equal('2026-07-01');
    expect(today(instant('2026-12-31T10:00:00.000Z'), 'Pacific/Kiritimati')).to.equal('2027-01-01');
    expect(today(instant('9999-12-31T12:00:00.000Z'), 'America/New_York')).to.equal('9999-12-31');
  });

  it('can’t be told in a time zone that does not exist', () =>
    expect(() => today(instant('2026-03-01T00:00:00Z'), 'Mars/Olympus')).to.throw(RangeError));
});

describe('postal holidays', () => {
  const holidaysOf = (year: number): string[] =>
    Array.from({ length: 366 }, (_, index) => addDays(day(`${year}-01-01`), index)).filter(
      (date) => date.startsWith(String(year)) && isPostalHoliday(date),
    );

  it('are the eleven federal holidays', () =>
    expect(holidaysOf(2025)).to.deep.equal([
      '2025-01-01', '2025-01-20', '2025-02-17', '2025-05-26', '2025-06-19', '2025-07-04', '2025-09-01', '2025-10-13', '2025-11-11', '2025-11-27', '2025-12-25',
    ])); // prettier-ignore

  it('that fall on a Saturday are observed only on that Saturday', () => {
    expect(holidaysOf(2026)).to.deep.equal([
      '2026-01-01', '2026-01-19', '2026-02-16', '2026-05-25', '2026-06-19', '2026-07-04', '2026-09-07', '2026-10-12', '2026-11-11', '2026-11-26', '2026-12-25',
    ]); // prettier-ignore
    expect(isPostalHoliday(day('2026-07-03'))).to.equal(false);
    expect(isPostalHoliday(day('2026-07-06'))).to.equal(false);
    expect(isPostalHoliday(day('2021-12-31'))).to.equal(false);
  });

  it('that fall on a Sunday are observed on Monday as well', () => {
    expect(holidaysOf(2022)).to.deep.equal([
      '2022-01-01', '2022-01-17', '2022-02-21', '2022-05-30', '2022-06-19', '2022-06-20', '2022-07-04', '2022-09-05', '2022-10-10', '2022-11-11', '2022-11-24',
      '2022-12-25', '2022-12-26',
    ]); // prettier-ignore
    expect(holidaysOf(2023).slice(0, 2)).to.deep.equal(['2023-01-01', '2023-01-02']);
    expect([day('2027-07-04'), day('2027-07-05'), day('2027-07-06')].map(isPostalHoliday)).to.deep.equal([
      true,
      true,
      false,
    ]);
  });
});

describe('business days', () => {
  it('are Monday to Friday, except postal holidays', () => {
    const week = Array.from({ length: 7 }, (_, index) => addDays(day('2026-03-01'), index));
    expect(week.map(isBusinessDay)).to.deep.equal([false, true, true, true, true, true, false]);
    expect(isBusinessDay(day('2026-11-26'))).to.equal(false);
    expect(isBusinessDay(day('2022-12-26'))).to.equal(false);
  });

  it('are counted forward from the next day', () => {
    expect(addBusinessDays(day('2026-03-02'), 2)).to.equal('2026-03-04');
    expect(addBusinessDays(day('2026-03-05'), 2)).to.equal('2026-03-09');
    expect(addBusinessDays(day('2026-03-07'), 1)).to.equal('2026-03-09');
    expect(addBusinessDays(day('2026-11-25'), 1)).to.equal('2026-11-27');
    expect(addBusinessDays(day('2026-03-07'), 0)).to.equal('2026-03-07');
  });

  it('are counted backward from the day before', () => {
    expect(addBusinessDays(day('2026-03-04'), -2)).to.equal('2026-03-02');
    expect(addBusinessDays(day('2026-03-09'), -1)).to.equal('2026-03-06');
    expect(addBusinessDays(day('2026-03-08'), -1)).to.equal('2026-03-06');
    expect(addBusinessDays(day('2026-11-27'), -1)).to.equal('2026-11-25');
  });
});

describe('the soonest arrival', () => {
  it('is two business days and five days in the mail from today', () => {
    expect(soonestArrival(day('2026-03-02'), usual)).to.equal('2026-03-09');
    expect(soonestArrival(day('2026-03-05'), usual)).to.equal('2026-03-14');
  });

  it('counts no weekend or holiday as a production day, and every day as a mail day', () => {
    expect(soonestArrival(day('2026-11-25'), usual)).to.equal('2026-12-05');
    expect(soonestArrival(day('2026-03-07'), usual)).to.equal('2026-03-16'); // Saturday: Monday, Tuesday the 10th, five days: Sunday the 15th, moved
  });

  it('moves from a Sunday or a postal holiday to the next day that is neither', () => {
    expect(soonestArrival(day('2026-03-06'), usual)).to.equal('2026-03-16'); // Tuesday the 10th, Sunday the 15th, moved
    expect(soonestArrival(day('2026-11-04'), usual)).to.equal('2026-11-12'); // Friday the 6th, Veterans Day, moved
    expect(soonestArrival(day('2022-12-16'), usual)).to.equal('2022-12-27'); // Tuesday the 20th, Christmas on Sunday, kept on Monday, moved
  });

  it('depends on the settings for production and mail days', () => {
    expect(soonestArrival(day('2026-03-02'), { productionDays: 0, mailDays: 0 })).to.equal('2026-03-02');
    expect(soonestArrival(day('2026-03-01'), { productionDays: 0, mailDays: 0 })).to.equal('2026-03-02');
    expect(soonestArrival(day('2026-03-02'), { productionDays: 1, mailDays: 3 })).to.equal('2026-03-06');
  });

  it('is never a Sunday or a postal holiday, and never too early for production and mail', () =>
    fc.assert(
      fc.property(sendDay, days, days, (from, productionDays, mailDays) => {
        const soonest = soonestArrival(from, { productionDays, mailDays });
        expect(weekday(soonest)).not.to.equal(0);
        expect(isPostalHoliday(soonest)).to.equal(false);
        expect(soonest >= addDays(from, productionDays + mailDays)).to.equal(true);
      }),
    ));
});

describe('the arrival window', () => {
  it('ends on the arrive-by date and begins four days before', () =>
    expect(arrivalWindow(day('2026-03-13'))).to.deep.equal({ earliest: '2026-03-09', latest: '2026-03-13' }));

  it('begins five days before if the fourth is a Sunday', () =>
    expect(arrivalWindow(day('2026-03-12'))).to.deep.equal({ earliest: '2026-03-07', latest: '2026-03-12' }));

  it('begins five days before if the fourth is a postal holiday', () =>
    expect(arrivalWindow(day('2026-11-15'))).to.deep.equal({ earliest: '2026-11-10', latest: '2026-11-15' }));

  it('never begins more than five days before, even if the fifth is a Sunday or a holiday', () => {
    expect(arrivalWindow(day('2026-01-23'))).to.deep.equal({ earliest: '2026-01-18', latest: '2026-01-23' }); // a holiday on Monday, the Sunday before it
    expect(arrivalWindow(day('2022-12-30'))).to.deep.equal({ earliest: '2022-12-25', latest: '2022-12-30' }); // Christmas kept on Monday, Christmas
  });

  it('always spans four or five days', () =>
    fc.assert(
      fc.property(anyDay, (latest) => {
        const window = arrivalWindow(addDays(latest, 5));
        expect(window.latest).to.equal(addDays(latest, 5));
        expect([addDays(latest, 1), latest]).to.include(window.earliest);
        expect(ArrivalWindow.parse(window)).to.deep.equal(window);
      }),
    ));
});

describe('the due day', () => {
  it('is the arrive-by date less the mail days and the production days', () => {
    expect(dueDay(day('2026-03-09'), usual)).to.equal('2026-03-02');
    expect(dueDay(day('2026-12-05'), usual)).to.equal('2026-11-25'); // back over Thanksgiving
    expect(dueDay(day('2026-03-14'), usual)).to.equal('2026-03-05'); // back over a weekend
    expect(dueDay(day('9999-12-31'), usual)).to.equal('9999-12-23'); // Sunday the 26th; back over Christmas, Friday, Thursday
    expect(dueDay(day('2026-03-09'), { productionDays: 0, mailDays: 0 })).to.equal('2026-03-09');
  });

  it('is today or earlier for a soonest arrival that was not moved, and a business day if production takes days', () =>
    fc.assert(
      fc.property(sendDay, days, days, (from, productionDays, mailDays) => {
        const planning = { productionDays, mailDays };
        const soonest = soonestArrival(from, planning);
        const unmoved = addDays(addBusinessDays(from, productionDays), mailDays);
        if (soonest === unmoved) expect(dueDay(soonest, planning) <= from).to.equal(true);
        if (productionDays > 0) expect(isBusinessDay(dueDay(soonest, planning))).to.equal(true);
      }),
    ));
});

describe('an arrive-by date', () => {
  const read = (text: string): LocalDate => honored(readArriveOn(text), day('2026-03-02'), usual);

  it('may be any date that can be met, even a Sunday or a holiday', () => {
    for (const date of ['2026-03-09', '2026-03-15', '2026-12-25']) expect(read(date)).to.equal(date);
  });

  it('may be far in the future', () => expect(read('9999-12-31')).to.equal('9999-12-31'));

  it('is refused with invalid_date if it is not a date', () => {
    for (const text of ['', ' ', '2026-02-30', '2026-03-20T00:00:00Z', '03/20/2026', 'soon'])
      expect(
        refusal(() => read(text)),
        JSON.stringify(text),
      ).to.include({ code: 'invalid_date' });
  });

  it('is refused if it is past or too soon, with the earliest possible date in the error message', () => {
    for (const text of ['2026-03-08', '2026-03-02', '2026-03-01', '0001-01-01']) {
      const { code, message } = refusal(() => read(text));
      expect(code).to.equal('invalid_date');
      expect(message).to.contain('2026-03-09');
    }
  });

  it('is refused with a message that says whether it is past or too soon', () => {
    expect(refusal(() => read('2026-03-01')).message).to.contain('in the past');
    expect(refusal(() => read('2026-03-02')).message).to.contain('too soon');
  });

  it('is refused as too soon before an earliest date that was moved off a Sunday', () => {
    const from = day('2026-03-06');
    expect(refusal(() => honored(day('2026-03-15'), from, usual)).message).to.contain('2026-03-16');
    expect(honored(day('2026-03-16'), from, usual)).to.equal('2026-03-16');
  });
});

describe('a birthday', () => {
  it('is stored as month and day, without a year', () => {
    expect(readBirthday('03-14')).to.equal('03-14');
    expect(readBirthday('1990-03-14')).to.equal('03-14');
    expect(readBirthday('2030-12-31')).to.equal('12-31');
  });

  it('may be February 29 in a leap year or without a year', () => {
    expect(readBirthday('02-29')).to.equal('02-29');
    expect(readBirthday('2024-02-29')).to.equal('02-29');
    expect(refusal(() => readBirthday('2023-02-29'))).to.include({ code: 'invalid_birthday' });
  });

  it('is refused if it is not a month and a day that exist', () => {
    for (const value of [
      '02-30',
      '13-01',
      '00-01',
      '01-00',
      '3-14',
      '0314',
      '14.03.1990',
      '1990-03',
      '90-03-14',
      '--03-14',
      '1990-03-14T00:00:00Z',
    ])
      expect(
        refusal(() => readBirthday(value)),
        JSON.stringify(value),
      ).to.include({ code: 'invalid_birthday' });
  });
});

describe('a work anniversary', () => {
  it('may be a date', () => expect(readWorkAnniversary('2019-06-03')).to.equal('2019-06-03'));

  it('is refused if it is not a full date that exists', () => {
    for (const value of ['06-03', '2019-02-29', '2019-06-03T00:00:00Z'])
      expect(
        refusal(() => readWorkAnniversary(value)),
        JSON.stringify(value),
      ).to.include({ code: 'invalid_date' });
  });

  it('counts the whole years since', () => {
    const since = (date: string, on: string): number => wholeYearsSince(day(date), day(on));
    expect(since('2019-06-03', '2026-06-02')).to.equal(6);
    expect(since('2019-06-03', '2026-06-03')).to.equal(7);
    expect(since('2019-06-03', '2019-06-03')).to.equal(0);
    expect(since('2026-12-01', '2026-03-01')).to.equal(0);
    expect(since('2030-01-01', '2026-03-01')).to.equal(0);
    expect(since('2020-02-29', '2021-02-28')).to.equal(0);
    expect(since('2020-02-29', '2021-03-01')).to.equal(1);
    expect(since('2020-02-29', '2024-02-29')).to.equal(4);
    expect(since('0099-01-01', '2026-01-01')).to.equal(1927);
  });
});
