import type { ChangeBy } from '#runtime/catalog/types/plugin-catalog.ts'
import type { RequestContext } from '#platform/routes/request.ts'

/** The caller, for the record: an author installs, and enables nothing. */
export const changeBy = ({ by, caller }: Pick<RequestContext, 'by' | 'caller'>): ChangeBy => ({
  ...by(),
  mayEnable: caller.role === 'operator',
})
