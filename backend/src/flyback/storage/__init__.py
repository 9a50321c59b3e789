"""Where runs live: tables, migrations, repositories, the run ledger."""
