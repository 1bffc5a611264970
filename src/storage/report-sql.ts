/** How many records a report looks at: one that is scraped every few seconds must not read a month each time. */
export const maxRecords = 50_000

/** In `FROM`: the newest `?1` records since `?2`, read along the time. */
export const recent = `(SELECT * FROM audit WHERE at_ms >= ?2 ORDER BY at_ms DESC LIMIT ?1)`

/** Of these types is what costs something; every report adds up the same. */
export const spendingTypes = `'model_called', 'model_failed', 'tool_finished', 'isolate_started'`

/** What a record cost: as the provider counted it or, of a request that failed, as it was booked. */
export const costNanoUsd = `coalesce(data->>'costNanoUsd', data->>'bookedCostNanoUsd', 0)`
