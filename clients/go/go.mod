module outtray

go 1.19
