"""What the commands do. Each act is a function of the main screen; the table in `table.py` names them."""
