/**
 * Both days of 2026 on which clocks change, by hand from the rules of each zone, not from what any code says. Times are
 * UTC; what clocks there show is in the third column.
 */
export const changesOfClocks = [
  // Berlin: 03-29 at 02:00 (01:00Z) to 03:00, 10-25 at 03:00 (01:00Z) back to 02:00.
  [
    'Europe/Berlin',
    '30 2 * * *',
    '02:30; 03:00; 02:30',
    '2026-03-28T00:00',
    ['03-28T01:30', '03-29T01:00', '03-30T00:30'],
  ],
  [
    'Europe/Berlin',
    '30 2 * * *',
    '02:30, the first of two',
    '2026-10-24T12:00',
    ['10-25T00:30', '10-26T01:30'],
  ],
  [
    'Europe/Berlin',
    '0 0,1,2 * * *',
    '0, 1, 2 once each',
    '2026-10-24T12:00',
    ['10-24T22:00', '10-24T23:00', '10-25T00:00', '10-25T23:00'],
  ],
  [
    'Europe/Berlin',
    '*/30 * * * *',
    'each half hour',
    '2026-10-25T00:00',
    ['10-25T00:30', '10-25T01:00', '10-25T01:30', '10-25T02:00'],
  ],
  [
    'Europe/Berlin',
    '0 * * * *',
    '1, 3, 4: none is two',
    '2026-03-28T23:30',
    ['03-29T00:00', '03-29T01:00', '03-29T02:00'],
  ],
  // New York: 03-08 at 02:00 (07:00Z) to 03:00, 11-01 at 02:00 (06:00Z) back to 01:00.
  [
    'America/New_York',
    '30 2 * * *',
    '03:00; 02:30',
    '2026-03-08T00:00',
    ['03-08T07:00', '03-09T06:30'],
  ],
  [
    'America/New_York',
    '30 1 * * *',
    '01:30, the first of two',
    '2026-11-01T00:00',
    ['11-01T05:30', '11-02T06:30'],
  ],
  [
    'America/New_York',
    '0 * * * *',
    'each hour, 1 twice',
    '2026-11-01T04:30',
    ['11-01T05:00', '11-01T06:00', '11-01T07:00'],
  ],
  // Lord Howe: half an hour. 04-05 at 02:00 (04-04 15:00Z) back to 01:30, 10-04 at 02:00 (10-03 15:30Z) to 02:30.
  [
    'Australia/Lord_Howe',
    '45 1 * * *',
    '01:45, the first of two',
    '2026-04-04T00:00',
    ['04-04T14:45', '04-05T15:15'],
  ],
  [
    'Australia/Lord_Howe',
    '15 2 * * *',
    '02:30; 02:15',
    '2026-10-03T00:00',
    ['10-03T15:30', '10-04T15:15'],
  ],
  [
    'Australia/Lord_Howe',
    '*/15 * * * *',
    'each quarter',
    '2026-04-04T14:40',
    ['04-04T14:45', '04-04T15:00', '04-04T15:15'],
  ],
  // Santiago: at midnight. 04-05 at 00:00 (03:00Z) back to 04-04 23:00, 09-06 at 00:00 (04:00Z) to 01:00.
  [
    'America/Santiago',
    '30 23 * * *',
    '23:30 of the 4th, the first of two',
    '2026-04-04T12:00',
    ['04-05T02:30', '04-06T03:30'],
  ],
  [
    'America/Santiago',
    '0 0 * * *',
    '01:00 on the 6th; midnight',
    '2026-09-05T12:00',
    ['09-06T04:00', '09-07T03:00'],
  ],
  [
    'America/Santiago',
    '0 * * * *',
    'each hour, 23 twice',
    '2026-04-05T01:30',
    ['04-05T02:00', '04-05T03:00', '04-05T04:00'],
  ],
  // Casablanca: Ramadan. 02-15 at 03:00 (02:00Z) back to 02:00, 03-22 at 02:00 (02:00Z) to 03:00.
  [
    'Africa/Casablanca',
    '30 2 * * *',
    '02:30, the first of two',
    '2026-02-14T12:00',
    ['02-15T01:30', '02-16T02:30'],
  ],
  [
    'Africa/Casablanca',
    '30 2 * * *',
    '03:00; 02:30',
    '2026-03-21T12:00',
    ['03-22T02:00', '03-23T01:30'],
  ],
  [
    'Africa/Casablanca',
    '0 * * * *',
    'each hour',
    '2026-03-22T00:30',
    ['03-22T01:00', '03-22T02:00', '03-22T03:00'],
  ],
] as const
