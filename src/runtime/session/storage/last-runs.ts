/** So many runs at the end of the log may be under way or wait in the queue: those before them are over, or kept open. */
const maxLastRuns = 18

/** The places of those of them that are not over. */
export const lastRunsNotOver = `WITH RECURSIVE back (run, steps) AS (
    SELECT max(run), 1 FROM log WHERE run > 0
    UNION ALL
    SELECT (SELECT max(run) FROM log WHERE run > 0 AND run < back.run), steps + 1
      FROM back WHERE run IS NOT NULL AND steps < ${maxLastRuns})
  SELECT run FROM back WHERE run IS NOT NULL AND
    (SELECT is_final FROM log AS ends WHERE ends.run = back.run
      ORDER BY turn DESC, part DESC LIMIT 1) = 0`
