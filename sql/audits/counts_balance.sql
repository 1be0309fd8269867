-- counts_balance: What enters a stage is kept, rejected, quarantined or blank.
select *
from reconciliation
where entered <> kept + rejected + quarantined + blank
