import type { OutsideAddress } from './network-rule.ts'

/**
 * Where a call goes that can reach no other place than those an operator named: the hosts of its plugin's grants, or a
 * server that was registered.
 */
export interface NamedPlace {
  /**
   * What results from there are called in labels (`crm__*`). Absent where it is more than one place, or may pass on what
   * it is given.
   */
  readonly home?: string
  /** Of a server: another may be registered under its name. */
  readonly origin?: string
}

/** Where a call goes: to the address in its input, or where it always goes. */
export type Destination = OutsideAddress | NamedPlace
